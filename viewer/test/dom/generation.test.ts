// The page of a generation: what its tokens drew on, stepping through them, layers, filters and files.
import { describe, expect, test } from "vitest";
import {
  all,
  cells,
  check,
  choose,
  click,
  drawn,
  fill,
  has,
  near,
  numberOf,
  one,
  open,
  openWhole,
  point,
  press,
  range,
  saved,
  share,
  shown,
  sum,
  text,
  texts,
  tokens,
  until,
  value,
} from "./page";
import { embeddedOf, Numbers, precisionOf, reportOf } from "./samples";

const selected = () => tokens('#generated [aria-selected="true"]');
const ranked = () => tokens("#rank tbody tr");
const excluded = () => tokens("#prompt .token.excluded").toSorted((a, b) => a - b);
const say = (token: number) => click(`#generated [data-token="${token}"]`);
const prompted = (token: number) => `#prompt [data-token="${token}"]`;
const blur = () => (document.activeElement as HTMLElement).blur();

function sampleOf(name: string) {
  const numbers = new Numbers(reportOf("generation", name));
  const { report } = numbers;
  const [m, n] = [report.input.tokens.length, report.generation.tokens.length];
  /** A row of the prompt's values and, where the report has them, of the generated tokens'. */
  const whole = (method: string, token: number) => [
    ...numbers.row(method, token)!,
    ...(numbers.has(`${method}_generated`) ? numbers.row(`${method}_generated`, token)! : []),
  ];
  const first = numbers.methods.includes("rollout") ? "rollout" : numbers.methods[0];
  return { numbers, report, m, n, whole, first, document: embeddedOf("generation", name) };
}

describe.each(["usual", "markup", "least"])("%s", (name) => {
  const { numbers, report, n, first, document } = sampleOf(name);
  const precision = precisionOf(document);

  test("both texts stand there, each token once, and nothing becomes an element", async () => {
    await open(document);
    for (const [id, pieces, words] of [
      ["prompt", report.input.tokens, report.input.text],
      ["generated", report.generation.tokens, report.generation.text],
    ] as const) {
      expect(tokens(`#${id} .token`)).toEqual(range(pieces.length));
      const parts = [...one(`#${id} .line`).childNodes].filter(
        (node) => !(node as HTMLElement).classList?.contains("chip"),
      );
      expect(parts.map((node) => node.textContent).join("")).toBe(words);
    }
    expect(all("main img, main script, main iframe")).toEqual([]);
  });

  test("its numbers are those of the report, for every method and span of layers", async () => {
    await openWhole(document);
    const last = report.settings.layers.at(-1)!;
    for (const method of numbers.methods) {
      await choose(method);
      const token = numbers.rows(method).at(-1)!;
      await say(token);
      const layers = numbers.layers(method);
      const said = (of: number[]) => near(shown("#prompt .token"), numbers.row(method, token, of), precision);
      said(layers);
      if (layers.length < 2) {
        // There is nothing to choose, and the list says what is shown.
        expect([one("#layers").disabled, text("#layers")]).toEqual([true, `${layers[0]} alone`]);
        continue;
      }
      await fill("#layers", "last");
      said([last]);
      await fill("#layers", "one");
      await fill("#from-layer", layers[0]);
      said([layers[0]]);
      await fill("#layers", "range");
      await fill("#from-layer", layers[1]);
      await fill("#to-layer", last);
      said(layers.slice(1));
      await fill("#layers", "all");
    }
  });

  test("steps by buttons, and plays to the end", async () => {
    await open(document);
    await say(0);
    expect(text("#step")).toBe(`1 of ${n}`);
    expect([one("#play").disabled, one("#previous").disabled]).toEqual([n === 1, true]);
    if (n === 1) return;
    await click("#next");
    expect(selected()).toEqual([1]);
    await click("#previous");
    expect(selected()).toEqual([0]);
    await say(n - 2);
    await click("#play");
    expect(one("#play").getAttribute("aria-pressed")).toBe("true");
    await until(() => one("#play").getAttribute("aria-pressed") === "false");
    expect(selected()).toEqual([n - 1]);
    const { choices } = report.generation.tokens[n - 1];
    const bars = all("#choices li").map(({ lastChild }) => lastChild?.textContent ?? "");
    for (const [k, { probability }] of choices.entries()) {
      if (!/^(under|over) /u.test(bars[k])) expect(numberOf(bars[k])).toBeCloseTo(probability, 2);
    }
    expect(all('#choices [aria-current="true"]').length).toBe(1);
  });

  test("normalised values stand beside the plain ones, and in their place", async () => {
    await openWhole(document);
    await choose(first);
    await say(0);
    expect(has("#normalized")).toBe(numbers.methods.some((method) => numbers.has(`${method}_normalized`)));
    if (!numbers.has(`${first}_normalized`)) return;
    const normalized = numbers.row(`${first}_normalized`, 0)!;
    const beside = all("#rank tbody tr").map(
      (line) => line.querySelector<HTMLElement>("[data-beside]")!.dataset.beside,
    );
    near(beside.map(Number), ranked().map((column) => normalized[column]), precision); // prettier-ignore
    await click("#normalized");
    near(shown("#prompt .token"), normalized, precision);
  });
});

describe("of a generation", () => {
  const { numbers, report, m, n, whole, document } = sampleOf("usual");
  const last = n - 1;

  test("a row that was not computed is said to be missing", async () => {
    await openWhole(document);
    await choose("flow");
    await say(range(n).find((token) => !numbers.rows("flow").includes(token))!);
    expect(text("#text-readout")).toContain("No flow values");
    expect(shown("#prompt .token")).toEqual(Array(m).fill(null));
  });

  test("tokens are excluded by clicks, keys, expressions and rules; shares are of what is left over", async () => {
    await open(document);
    await choose("rollout");
    await say(last);
    const values = numbers.row("rollout", last)!;
    const mass = Math.max(1, sum(values));
    const are = (aside: number[]) => {
      expect(excluded()).toEqual(aside);
      const said = share(text("#excluded-share"));
      expect(Math.abs(said - sum(aside.map((j) => values[j])) / mass)).toBeLessThanOrEqual(0.0061);
      expect(ranked().filter((j) => aside.includes(j))).toEqual([]);
    };
    await click("#filters-button");
    if (!one("#reset").disabled) await click("#reset");
    are([]);
    const order = whole("rollout", last);
    const expected = [...order.keys()].filter((j) => order[j] > 0).sort((a, b) => order[b] - order[a] || a - b);
    expect(ranked()).toEqual(expected.slice(0, report.settings.top_k));
    // A plain click on the prompt only points at a token.
    await click(prompted(0));
    expect(selected()).toEqual([last]);
    are([]);
    for (const aside of [[0], []]) {
      await click(prompted(0), { ctrlKey: true });
      are(aside);
    }
    one(prompted(0)).focus();
    for (const aside of [[0], []]) {
      await press("x");
      are(aside);
    }
    await fill("#pattern", "^(?:people|do)$");
    const named = range(m).filter((j) => /^(?:people|do)$/iu.test(report.input.tokens[j].text.trim()));
    expect(named.length).toBeGreaterThan(0);
    are(named);
    await fill("#pattern", "(");
    expect(text("#pattern-problem")).toMatch(/^Invalid regular expression: /u);
    are([]);
    await click("#reset");
    expect(value("#pattern")).toBe("");
    await check("#skip-stop-words");
    const words = excluded().map((j) => text(prompted(j)).trim().toLowerCase());
    expect(words.filter((word) => !/^(?:[a-z]+|[^a-z0-9]*)$/u.test(word))).toEqual([]);
    expect(words.length).toBeGreaterThan(0);
    await check("#skip-stop-words", false);
    are([]);
  });

  test("special tokens have a note that counts them, and a key", async () => {
    const { report, document } = sampleOf("arabic");
    await open(document);
    const special = report.input.tokens.flatMap((token, j) => (token.special ? [j] : []));
    expect(special.length).toBeGreaterThan(0);
    await click("#filters-button");
    if (!one("#reset").disabled) await click("#reset");
    await check("#skip-special");
    expect(excluded()).toEqual(special);
    expect(text("#special-note")).toMatch(/^\d+ special tokens? excluded/u);
    await click("#special-toggle");
    expect([excluded(), text("#special-note"), one("#skip-special").checked]).toEqual([
      [],
      expect.stringMatching(/^\d+ special tokens? included/u),
      false,
    ]);
    blur();
    await press("s");
    expect(one("#skip-special").checked).toBe(true);
  });

  test("the keyboard steps anywhere, and excludes in the prompt", async () => {
    await open(document);
    await say(0);
    one('#generated [data-token="0"]').focus();
    await press("End");
    expect(selected()).toEqual([last]);
    await press("Home", "ArrowRight");
    expect([selected(), (window.document.activeElement as HTMLElement).dataset.token]).toEqual([[1], "1"]);
    blur();
    await press("ArrowRight");
    expect([selected(), text("#step")]).toEqual([[2], `3 of ${n}`]);
    for (const pressed of ["true", "false"]) {
      await press(" ");
      expect(one("#play").getAttribute("aria-pressed")).toBe(pressed);
    }
    // In the prompt the space bar and Enter change nothing, nor do they play.
    one('#prompt [tabindex="0"]').focus();
    const before = excluded();
    await press(" ", "Enter");
    expect([excluded(), one("#play").getAttribute("aria-pressed")]).toEqual([before, "false"]);
    expect(all('#generated [tabindex="0"]').length).toBe(1);
  });

  test("what was drawn on generated tokens stands in the text and in the table", async () => {
    await openWhole(document);
    await choose("rollout");
    await say(last);
    await click("#filters-button");
    if (!one("#reset").disabled) await click("#reset");
    const row = numbers.row("rollout_generated", last)!;
    near(shown("#generated .token").slice(0, last), row.slice(0, last));
    expect(shown("#generated .token").slice(last)).toEqual([null]);
    await click("#rank-all");
    const values = whole("rollout", last);
    const lines = all("#rank tbody tr").map(({ dataset, children }) => [dataset.token, children[1].textContent]);
    expect(lines.length).toBe(values.filter((value) => value > 0).length);
    for (const [column, position] of lines) {
      const j = Number(column);
      expect(position).toBe(j < m ? String(j) : `generated ${j - m + 1}`);
    }
    const byColumn = all('#rank tbody [data-method="rollout"]').map(({ dataset }) => Number(dataset.value));
    near(byColumn, lines.map(([column]) => values[Number(column)])); // prettier-ignore
    for (const token of [0, 1]) {
      await say(token);
      expect(text("#rank-help").includes("generated tokens from 1")).toBe(token > 0);
    }
    await say(last);
    const generated = all("#filters label").find(({ textContent }) => textContent?.includes("generated tokens"))!;
    generated.querySelector("input")!.click();
    await drawn();
    expect(ranked().every((column) => column < m)).toBe(true);
  });

  test("all methods stand side by side, with the numbers of the report", async () => {
    await openWhole(document);
    const [token] = numbers.rows("flow");
    await say(token);
    blur();
    await press("c");
    for (const method of numbers.methods) {
      const strip = shown(`#all-methods [data-strip="${method}"] .token`);
      near(strip.slice(0, m), numbers.row(method, token));
      expect(strip.slice(m + token).every((value) => value === null)).toBe(true);
    }
    await click("#compare-button");
    expect(has("#methods-card")).toBe(false);
    await open(sampleOf("least").document);
    expect([has("#methods-card"), one("#compare-button").disabled]).toEqual([false, true]);
  });

  test("flow values are no shares, and degenerate ones are marked", async () => {
    await openWhole(document);
    await choose("flow");
    const [token] = numbers.rows("flow");
    await say(token);
    expect(has("#excluded-share")).toBe(false);
    expect(text("#shares")).toContain("do not add up");
    expect(text("#rank thead")).not.toContain("of the prompt");
    const [flags, values] = [numbers.row("flow_degenerate", token)!, numbers.row("flow", token)!];
    const expected = range(m).filter((j) => flags[j] > 0 && values[j] > 0);
    expect(tokens("#prompt .token.degenerate")).toEqual(expected);
    expect(text("#text-help").includes("°")).toBe(expected.length > 0);
    if (!one("#rank-all").hidden) await click("#rank-all");
    const marked = all("#rank tbody tr").filter((line) => line.querySelector(".mark"));
    expect(marked.map(({ dataset }) => Number(dataset.token)).sort((a, b) => a - b)).toEqual(
      expected.filter((j) => ranked().includes(j)),
    );
  });

  test("pointing at a token shows it in the maps, and the other way; clicks in maps choose", async () => {
    await openWhole(document);
    await say(last);
    await point(prompted(0));
    expect(all("#map .pointing .column").length).toBe(1);
    expect(text("#text-readout")).toMatch(/ ← /u);
    one("#map-cells").focus();
    await press("Home", "PageDown");
    expect(tokens("#prompt .token.pointed")).toEqual([0]);
    expect(numberOf(text("#map-readout b"))).toBeCloseTo(numbers.row("rollout", last)![0], 3);
    await press("Escape");
    expect(has("#map .pointing *")).toBe(false);
    // A piece that begins with a space carries a sign in its tip, and none in lists.
    const spaced = report.input.tokens.findIndex(({ text }) => /^[ \u0120\u2581]\S/u.test(text));
    await point(prompted(spaced));
    expect([has("#text-readout .piece .space"), has("#rank .piece .space")]).toEqual([true, false]);
  });

  test("files hold the numbers of every token", async () => {
    await openWhole(document);
    await say(last);
    const lines = cells(await saved("map", "csv"));
    expect(Object.keys(lines[0])).toEqual([
      ...["output_token", "output_text", "part", "input_token", "input_text", "value"],
    ]);
    const row = lines.filter(({ output_token: token, part }) => token === "0" && part === "prompt");
    near(row.map((line) => Number(line.value)), numbers.row("rollout", 0)); // prettier-ignore
  });
});

describe("an encoder-decoder", () => {
  const report = reportOf("generation", "usual");
  const source = report.input.tokens.length - 1;
  // As a decoder whose prompt ends with what a target begins with.
  Object.assign(report.input.tokens[source], { segment: 1, begin: undefined, end: undefined });
  const values = { source_tokens: source, encoder_layers: 0, decoder_layers: 50 };
  report.notes.push({ code: "joint-layers", values, text: "Two in one." });

  test("every token stands in its text with its value; layers are called by whose they are", async () => {
    await openWhole(report);
    expect(texts("#text-strips h2")).toEqual(["Source", "Target"]);
    expect(tokens("#prompt .token")).toEqual(range(source));
    expect(tokens("#generated .token")).toEqual(range(report.generation.tokens.length + 1));
    expect(one<HTMLElement>('#generated [data-token="0"]').dataset.value).not.toBe("");
    expect(texts("#layers option").slice(-2)).toEqual(["to the source", "to the target"]);
    await fill("#layers", "one");
    expect(texts("#from-layer option").every((name) => /^(Self|Cross) \d+$/u.test(name))).toBe(true);
    await fill("#layers", "target");
    await until(() => location.hash.includes("l=target"));
  });
});
