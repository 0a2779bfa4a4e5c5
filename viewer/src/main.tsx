// The page's entry point: shows the report it contains, or else the server's start page.
import { render } from "preact";
import { Client } from "./server/client";
import { ServerApp } from "./server/server_app";
import { ServerState } from "./server/server_state";
import { showReport } from "./show_report";
import { followTheme } from "./theme";
// After the views' own rules, which their modules import; these override each other in this order.
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/cards.css";
import "./styles/screens.css";
import "./styles/print.css";

function fail(error: unknown) {
  const box = document.createElement("p");
  box.id = "failure";
  box.setAttribute("role", "alert");
  box.textContent = `This page could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
  document.body.prepend(box);
}

async function start() {
  const root = document.getElementById("viewer");
  const source = document.getElementById("report");
  if (!root || !source) throw new Error("the page has lost its report");
  followTheme(document.documentElement);
  const value: unknown = JSON.parse(source.textContent ?? "null");
  if (value === null) render(<ServerApp state={new ServerState(new Client())} />, root);
  else await showReport(value, root);
}

start().catch((error: unknown) => {
  fail(error);
  throw error;
});
