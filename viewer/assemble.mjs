// node assemble.mjs REPORT.json PAGE.html [--server | --cell]
//
// Puts a report into the built page (npm run build, or what is in $ATTNFLOW_VIEWER), as attnflow does, to look at while
// working on the viewer. --cell: the page in a frame of a notebook's cell.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [report, out, mode] = process.argv.slice(2);
if (!out) throw new Error("usage: node assemble.mjs REPORT.json PAGE.html [--server | --cell]");
const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const built = process.env.ATTNFLOW_VIEWER ?? fileURLToPath(new URL("dist", import.meta.url));
if (!existsSync(join(built, "viewer.js"))) {
  throw new Error(`expected the built viewer in ${built}, found nothing; run npm run build in viewer/`);
}
const name = mode === "--cell" ? "cell" : "viewer";
const [style, script] = [`${name}.css`, `${name}.js`].map((file) => readFileSync(join(built, file), "utf8"));
if (script.includes("</script") || style.includes("</")) throw new Error("the script would end its element");
const document = JSON.stringify(JSON.parse(readFileSync(report, "utf8"))).replaceAll("<", "\\u003c");
const values = {
  POLICY: mode === "--server" ? "default-src 'none'; connect-src 'self'" : "default-src 'none'",
  TITLE: "attnflow",
  SCRIPT_HASH: hash(script),
  STYLE_HASH: hash(style),
  STYLE: style,
  SCRIPT: script,
  REPORT: document,
};
const page = read("viewer.html").replace(/@([A-Z_]+)@/g, (mark, name) => values[name] ?? mark);
writeFileSync(out, mode === "--cell" ? page.replace("<html", "<html data-embed") : page);
