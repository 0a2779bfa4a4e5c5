// A page without a browser: mounted, worked with as a reader does, and read.
import { render } from "preact";
import { expect, vi } from "vitest";
import { showReport } from "../../src/show_report";
import type { Numbers } from "./samples";

const ROOT = "viewer";

/** Opens the page of a report, as main.tsx does, at an address with this fragment. */
export async function open(document: unknown, fragment = "") {
  await showReport(document, begin(fragment));
  await idle();
}

/** The same with every token counted: pages open without special ones. */
export async function openWhole(document: unknown, fragment = "") {
  await open(document, fragment);
  if (has("#skip-special")) await check("#skip-special", false);
}

/** A tab with an empty page. */
export function begin(fragment = ""): HTMLElement {
  close();
  history.replaceState(null, "", `/${fragment}`);
  const root = document.createElement("div");
  root.id = ROOT;
  document.body.append(root);
  return root;
}

export function close() {
  const root = document.getElementById(ROOT);
  if (root) render(null, root);
  document.body.replaceChildren();
  history.replaceState(null, "", "/");
}

/** Waits until what was chosen is drawn. */
export async function drawn() {
  for (let frame = 0; frame < 2; ++frame) await new Promise((done) => requestAnimationFrame(done));
  await new Promise((done) => setTimeout(done));
}

/** Waits until something holds, which is looked at again and again. */
export const until = (holds: () => unknown) =>
  vi.waitFor(() => expect(holds(), String(holds)).toBeTruthy(), { timeout: 20_000, interval: 5 });

/** Waits until nothing is being computed. */
export async function idle() {
  await drawn();
  await until(() => !has('[aria-busy="true"], #flow-progress'));
  await drawn();
}

export const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)];
export const has = (selector: string) => document.querySelector(selector) !== null;
export function one<E extends HTMLElement = HTMLInputElement>(selector: string): E {
  const found = document.querySelector<E>(selector);
  if (!found) throw new Error(`expected ${selector}, found none`);
  return found;
}
export const text = (selector: string) => one(selector).textContent ?? "";
export const texts = (selector: string) => all(selector).map((element) => element.textContent ?? "");
export const value = (selector: string) => one(selector).value;
export const checked = (selector: string) => one(selector).checked;
/** A token's position, as an attribute says it. */
export const tokens = (selector: string) => all(selector).map(({ dataset }) => Number(dataset.token));
export const method = () => value("#methods input:checked");

/** The numbers that tokens or patches show; null where there are none. */
export function shown(selector: string): (number | null)[] {
  const found: (number | null)[] = [];
  for (const { dataset } of all(selector)) found[Number(dataset.token)] = dataset.value ? Number(dataset.value) : null;
  return found;
}

export async function click(selector: string, keys: MouseEventInit = {}) {
  const element = one(selector);
  if (Object.keys(keys).length === 0) element.click();
  else element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...keys }));
  await drawn();
}

export async function fill(selector: string, to: string | number) {
  const field = one(selector);
  field.value = String(to);
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  await drawn();
}

export async function check(selector: string, on = true) {
  if (checked(selector) !== on) await click(selector);
}

export const choose = (name: string) => click(`#methods input[value="${name}"]`);

export async function press(...keys: string[]) {
  for (const key of keys) {
    const target = document.activeElement ?? document.body;
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await drawn();
  }
}

export async function point(selector: string, type = "pointerover") {
  one(selector).dispatchEvent(new PointerEvent(type, { bubbles: true }));
  await drawn();
}

/** The address moves, as by hand or to another entry of the history. */
export async function goTo(fragment: string) {
  history.replaceState(null, "", `/${fragment}`);
  dispatchEvent(new Event("popstate"));
  await idle();
}

export async function give(selector: string, ...files: File[]) {
  Object.defineProperty(one(selector), "files", { configurable: true, value: files });
  one(selector).dispatchEvent(new Event("change", { bubbles: true }));
  await drawn();
}

export const file = (content: unknown, name = "report.json") =>
  new File([typeof content === "string" ? content : JSON.stringify(content)], name);

export async function saved(card: string, kind: "csv" | "json" | "svg") {
  const made = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:");
  await click(`#${card}-card .export > button`);
  await click(`#${card}-card [data-kind="${kind}"]`);
  await until(() => made.mock.calls.length > 0);
  const file = await (made.mock.calls[0][0] as Blob).text();
  made.mockRestore();
  return file;
}

/** A CSV file's lines after its head, each cell by its column. */
export function cells(csv: string): Record<string, string>[] {
  const [head, ...lines] = csv
    .trimEnd()
    .split("\r\n")
    .map((line) =>
      [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain),
    );
  return lines.map((line) => Object.fromEntries(line.map((cell, k) => [head[k], cell.replaceAll('""', '"')])));
}

/** Numbers are those of a report, up to the error that the page's have. */
export function near(actual: readonly (number | null)[], expected: readonly number[] | null, relative = 1e-6) {
  expect(actual.length).toBe(expected?.length);
  const apart = (expected ?? []).flatMap((number, i) =>
    Math.abs((actual[i] ?? NaN) - number) <= relative * Math.abs(number) + 2 ** -24
      ? []
      : [`${i}: ${actual[i]}, not ${number}`],
  );
  expect(apart).toEqual([]);
}

/** A number as pages print it: "−0.1250", "12.5%". */
export const numberOf = (said: string) =>
  Number(said.replaceAll("−", "-").replace("%", "")) / (said.endsWith("%") ? 100 : 1);

/** A printed share, in whole percent. */
export function share(said: string): number {
  return said === "under 1%" ? 0.0025 : said === "over 99%" ? 0.9975 : numberOf(said);
}

export const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
export const range = (count: number) => [...Array(count).keys()];
export const largest = (numbers: Numbers, array: string, token: number, layers?: number[]) => {
  const row = numbers.row(array, token, layers) ?? [];
  return row.indexOf(Math.max(...row));
};
