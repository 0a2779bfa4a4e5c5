// A test file's browser, and where its pages come from: samples (viewer/test/dom/samples.js), and reports that attnflow
// does not write.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { samplePage } from "../../viewer/test/dom/samples.js";
import { open as openIn, startBrowser } from "./browser.js";

export {
  fixture,
  Numbers,
  numbersOf,
  reportOf,
  samplePage,
  samplePages,
  withWords,
} from "../../viewer/test/dom/samples.js";

export let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

export const NARROW = { width: 360, height: 900 };
export const WIDE = { width: 1200, height: 900 };

export const open = (file, options) => openIn(browser, file, options);

/** Runs with a page that is closed afterwards, and that must have behaved. */
export async function withPage(file, options, run) {
  const opened = await open(file, options);
  try {
    await run(opened.page, opened);
    assert.deepEqual(opened.watch, { requests: [], messages: [] });
  } finally {
    await opened.close();
  }
}

export const short = () => samplePage("", "short").html;
export const usual = () => samplePage("generation", "usual").html;

const assemble = fileURLToPath(new URL("../../viewer/assemble.mjs", import.meta.url));
const made = [];
process.on("exit", () => made.forEach((folder) => rmSync(folder, { recursive: true })));

/** The file of a report's page, --cell: in a notebook's cell; it goes when the tests end. */
export function pageOf(report, ...mode) {
  const folder = mkdtempSync(join(tmpdir(), "attnflow-page-"));
  made.push(folder);
  const [json, html] = [join(folder, "report.json"), join(folder, "report.html")];
  writeFileSync(json, JSON.stringify(report));
  execFileSync(process.execPath, [assemble, json, html, ...mode]);
  return html;
}
