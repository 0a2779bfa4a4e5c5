// The page's entry point: shows the report it contains, or else the server's start page.
import { render } from "preact";
import { Client } from "./server/client";
import { ServerApp } from "./server/server_app";
import { ServerState } from "./server/server_state";
import { showReport } from "./show_report";
import { start } from "./start";
// After the views' own rules, which their modules import; these override each other in this order.
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/cards.css";
import "./styles/screens.css";
import "./styles/print.css";

start((value, root) => {
  if (value === null) render(<ServerApp state={new ServerState(new Client())} />, root);
  else return showReport(value, root);
});
