// Where the pages of tests come from.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const viewer = fileURLToPath(new URL("../../viewer/", import.meta.url));

/** A page with the report of a .json file, by the viewer as it is built (npm run build in viewer/). */
export function makePage(json, html) {
  if (!existsSync(join(viewer, "dist", "viewer.js"))) {
    throw new Error(`expected the built viewer in ${join(viewer, "dist")}, found none; run npm run build in viewer/`);
  }
  execFileSync(process.execPath, [join(viewer, "assemble.mjs"), json, html]);
}

/**
 * The pages of a folder of $ATTNFLOW_HTML ("generation", "image"; "" for texts), each with its report in full precision.
 * @param {string} kind
 * @returns {{name: string, json: string, html: string}[]}
 */
export function samplePages(kind) {
  const root = process.env.ATTNFLOW_HTML;
  if (!root) throw new Error("expected ATTNFLOW_HTML to name a folder of reports; see tests/browser/run");
  const folder = join(root, kind);
  const made = mkdtempSync(join(tmpdir(), "attnflow-pages-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  const pages = readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => {
      const name = file.replace(/\.json$/u, "");
      const page = { name, json: join(folder, file), html: join(made, `${name}.html`) };
      makePage(page.json, page.html);
      return page;
    });
  if (pages.length === 0) throw new Error(`expected reports in ${folder}, found none`);
  return pages;
}

/** The largest relative error of the numbers in a page: those of its arrays' type. */
export function relativeError(html) {
  const text = readFileSync(html, "utf8").match(/<script type="application\/json" id="report">([^]*?)<\/script>/u)[1];
  const exactness = { f16: 2 ** -11, f32: 2 ** -23, f64: 2 ** -52, u8: 0 };
  const errors = Object.values(JSON.parse(text).arrays).map(({ dtype, error }) => error ?? exactness[dtype]);
  return Math.max(2 ** -52, ...errors);
}
