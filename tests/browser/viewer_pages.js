// Where the pages of tests come from.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const assemble = fileURLToPath(new URL("../../viewer/assemble.mjs", import.meta.url));

/** A page with the report of a .json file, for tests whose reports attnflow does not write. */
export function makePage(json, html) {
  execFileSync(process.execPath, [assemble, json, html]);
}

/** A page of a report, in a folder of its own. */
export function pageOf(report) {
  const folder = mkdtempSync(join(tmpdir(), "attnflow-page-"));
  const [json, html] = [join(folder, "report.json"), join(folder, "report.html")];
  writeFileSync(json, JSON.stringify(report));
  makePage(json, html);
  return { html, remove: () => rmSync(folder, { recursive: true }) };
}

/** The report of a sample page, whose pieces say which words they belong to. */
export function withWords(json) {
  const report = JSON.parse(readFileSync(json, "utf8"));
  let word = -1;
  for (const token of report.input.tokens) {
    if (token.special) continue;
    token.word = token.text.startsWith("##") ? word : ++word;
  }
  return report;
}

/**
 * The pages of a folder of $ATTNFLOW_HTML ("generation", "image"; "" for texts) as attnflow wrote them, each with its
 * report in full precision.
 * @param {string} kind
 * @returns {{name: string, json: string, html: string}[]}
 */
export function samplePages(kind) {
  const root = process.env.ATTNFLOW_HTML;
  if (!root) throw new Error("expected ATTNFLOW_HTML to name a folder of pages; see tests/browser/run");
  const folder = join(root, kind);
  const pages = readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => {
      const name = file.replace(/\.json$/u, "");
      return { name, json: join(folder, file), html: join(folder, `${name}.html`) };
    });
  if (pages.length === 0) throw new Error(`expected pages in ${folder}, found none`);
  for (const { html } of pages) if (!existsSync(html)) throw new Error(`expected ${html}, found none`);
  return pages;
}

/** The largest relative error of the numbers in a page: those of its arrays' type. */
export function relativeError(html) {
  const text = readFileSync(html, "utf8").match(/<script type="application\/json" id="report">([^]*?)<\/script>/u)[1];
  const exactness = { f16: 2 ** -11, f32: 2 ** -23, f64: 2 ** -52, u8: 0 };
  const errors = Object.values(JSON.parse(text).arrays).map(({ dtype, error }) => error ?? exactness[dtype]);
  return Math.max(2 ** -52, ...errors);
}
