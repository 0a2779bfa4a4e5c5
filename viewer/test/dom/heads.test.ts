// Layer map, matrix, graph, heads and the recipe's controls, over reports with all heads and attnflow's results for
// other settings (test/fixtures/make.py); methods beside the graph; attention sinks; comparison.
import { beforeEach, describe, expect, test } from "vitest";
import type { ReportDocument } from "../../src/report/document";
import {
  all,
  cells,
  check,
  choose,
  click,
  drawn,
  file,
  fill,
  give,
  goTo,
  has,
  idle,
  method,
  near,
  numberOf,
  one,
  open,
  openWhole,
  point,
  press,
  range,
  saved,
  shown,
  sum,
  text,
  texts,
  tokens,
  until,
  value,
} from "./page";
import { arrayOf, fixture, Numbers, numbersOf, reportOf, withWords } from "./samples";

const { report, cases } = fixture("text");
const n = report.input.tokens.length;
const L = report.model.layers;
const output = report.output_token;
/** Values that attnflow computed with other settings: [layer][output token][input token]. */
function computed(name: string, ...given: string[]) {
  const found = cases.find((entry) => entry.arguments.join(" ") === given.join(" "))!.arrays[name];
  const [, rows, columns] = found.shape;
  const numbers = [...numbersOf(found)];
  return (layer: number, token = output) => numbers.slice(((layer - 1) * rows + token) * columns).slice(0, columns);
}
const rollout = (layer: number, token = output) => new Numbers(report).row("rollout", token, [layer])!;
const strip = () => shown("#strip .token");
const said = (selector: string, number: number) => expect(numberOf(text(selector))).toBeCloseTo(number, 3);

describe("a report with heads", () => {
  beforeEach(() => openWhole(report));

  test("what is pointed at in the text is marked in every picture", async () => {
    await point('#strip [data-token="3"]');
    expect([all("#heat .pointing .column").length, all("#matrix .pointing .column").length]).toEqual([1, 1]);
    expect(all("#graph .pointing circle").length).toBe(1);
  });

  test("the layer map is read and chosen from with the keyboard", async () => {
    one("#heat-cells").focus();
    await press("ArrowRight", "ArrowRight", "ArrowDown");
    expect(text("#heat-readout")).toMatch(new RegExp(` ← .*: [\\d.]+% \\(rollout, layer ${L - 1}\\)`));
    expect(tokens("#strip .pointed")).toEqual([2]);
    await press("Enter", " ");
    expect([text("#layer-name"), value("#output-token")]).toEqual([`${L - 1} of ${L}`, "2"]);
  });

  test("the matrix is read with the keyboard, chosen from, and zoomed", async () => {
    one("#matrix svg").focus();
    await press("ArrowRight", "ArrowDown", "ArrowDown");
    said("#matrix-readout b", rollout(L, 2)[1]);
    await press("Enter");
    expect([value("#output-token"), one("#matrix-whole").disabled]).toEqual(["2", true]);
    expect(all("#matrix svg .label").length).toBe(n);
  });

  test("the graph draws the maximum flow of a pair with its minimum cut", async () => {
    await click('input[name="graph-kind"][value="flow"]');
    expect(report.certificates.length).toBeGreaterThan(0);
    for (const { output_token, input_token, flow, minimum_cut } of report.certificates) {
      await fill("#output-token", output_token);
      await fill("#flow-input", input_token);
      await until(() => Math.abs(Number(one<HTMLElement>("#graph-readout").dataset.value) - flow) < 1e-9);
      expect(text("#graph-readout")).toContain("minimum cut");
      // A band a layer that the cut crosses, with the capacity of its arcs there.
      const bands = all("#graph .cut > g").map(({ dataset }) => Number(dataset.value));
      expect(bands.length).toBe(new Set(minimum_cut.map(([layer]) => layer)).size);
      expect(sum(bands)).toBeCloseTo(flow, 9);
    }
  });

  test("the graph traces a token or shows the weights on its paths", async () => {
    const lines = () => all("#graph .lines line").length;
    // At first the strongest paths, each with a line in every layer.
    expect([lines() >= L, text('label[for="graph-paths"]')]).toEqual([true, "5 paths"]);
    await fill("#graph-paths", 1);
    expect(lines()).toBe(L);
    await click('input[name="graph-kind"][value="share"]');
    const seen = [lines()];
    const more = () => {
      seen.push(lines());
      expect(seen.at(-1)).toBeGreaterThan(seen.at(-2)!);
    };
    await fill("#graph-arcs", 16);
    more();
    await click("#graph-own");
    more();
    await click('input[name="graph-kind"][value="attention"]');
    more();
    await click('input[name="graph-kind"][value="share"]');
    one("#graph svg").focus();
    for (let l = L; l > 0; --l) await press("ArrowDown");
    // Below the top, a node's mass is what the arcs above bring.
    said("#graph-tip b", rollout(L)[output]);
    await click("#look-button");
    await fill("#threshold", 0.3);
    expect(lines()).toBeLessThan(seen[2]);
    expect(text("#graph-help")).toContain("below 30%");
  });

  test("numbers of another residual are computed in the page", async () => {
    expect(text("#recipe-source")).toBe("");
    await fill("#residual", 0.2);
    expect(text("#recipe-source")).toMatch(/^Recomputed in the browser/);
    near(strip(), computed("rollout", "--residual", "0.2")(L));
    await choose("flow");
    await idle();
    const flow = computed("flow", "--residual", "0.2");
    near(strip(), flow(L));
    expect(text("#matrix-missing code")).toMatch(/--method raw,rollout,flow.*--residual 0\.2/);
    await fill("#layer", 1);
    await idle();
    near(strip(), flow(2));
    await click("#recipe-reset");
    expect([text("#recipe-source"), value("#residual")]).toEqual(["", "0.5"]);
  });

  test("heads, masked columns, layers, normalisation and words follow attnflow's numbers", async () => {
    await fill("#head-fusion", "max");
    near(strip(), computed("rollout", "--heads", "max")(L));
    await fill("#mask-columns", "special");
    near(strip(), computed("rollout", "--mask-columns", "special", "--heads", "max")(L));
    await click("#recipe-reset");
    await fill("#to-layer", 1);
    near(strip(), computed("rollout", "--start-layer", "1")(L - 1));
    await click("#recipe-reset");
    await fill("#normalize", "receptive-field");
    near(strip(), computed("rollout", "--normalize", "receptive-field")(L));
    await click("#recipe-reset");
    await click("#words");
    const words = computed("rollout", "--words")(L);
    expect(words.length).toBeLessThan(n);
    near(strip(), words);
    await click("#words");
    near(strip(), rollout(L));
  });

  test("a head is shown large and explained with", async () => {
    one("#heads svg").focus();
    await press("ArrowRight");
    expect(text("#head-heading")).toContain(`Layer ${L}, head 1`);
    one("#head svg").focus();
    await press("ArrowDown");
    const { shape } = report.arrays.attention;
    said("#head-readout b", numbersOf(report.arrays.attention)[(((L - 1) * shape[1] + 1) * n + 1) * n]);
    await click("#explain-with-head");
    near(strip(), computed("rollout", "--heads", "1")(L));
  });

  test("its files hold unrounded numbers", async () => {
    for (const card of ["heat", "matrix", "graph", "heads"]) {
      const file = await saved(card, "csv");
      expect(file.split("\n").length, card).toBeGreaterThan(10);
      if (card === "matrix") expect(file).toContain(String(rollout(L, 2)[1]));
    }
  });
});

test("a report without heads shows what there is", async () => {
  const { attention, raw, ...arrays } = report.arrays;
  expect([attention, raw]).not.toContain(undefined);
  await open({ ...report, arrays });
  expect(["#heads-card", "#graph-card", "#residual"].filter(has)).toEqual([]);
  expect(all("#heat .cells rect").length).toBe(n * L);
});

describe("flow computed in the page", () => {
  test("is that of the graph's pairs, with another residual, after every layer", async () => {
    await openWhole(reportOf("", "short"), "#v=1&m=flow&r=0.3&g=flow&i=3");
    const values = strip();
    for (const token of [0, 3, 6]) {
      await goTo(`#v=1&m=flow&r=0.3&g=flow&i=${token}`);
      await until(() => Math.abs(Number(one<HTMLElement>("#graph-readout").dataset.value) - values[token]!) < 1e-9);
    }
    expect(texts("#heat .value").length).toBe(6 * values.length);
  });

  test("is chosen of whole words with the key", async () => {
    await openWhole(withWords(reportOf("", "arabic")));
    await click("#words");
    await press("3");
    await until(() => strip().every((value) => value !== null));
    expect([method(), text("#heading")]).toEqual(["flow", expect.stringContaining("flow cannot tell 6 words apart")]);
  });

  test("that cannot be had is said to be missing beside the methods, with the command", async () => {
    const { arrays, settings, ...rest } = reportOf("", "short");
    const only = { ...settings, method: ["rollout"] };
    await open({ ...rest, settings: only, arrays: { rollout: arrays.rollout }, flow_output_tokens: [] });
    expect(text("#methods-missing")).toMatch(/^No raw or flow here\./u);
    await click("#missing-button");
    expect(text("#missing-panel")).toMatch(/without flow\. This command.*--method rollout,flow/u);
    // A file cannot be asked for another mixing: the list says what it holds.
    await open(report);
    for (const again of [1, 2]) {
      await fill("#mixing", "alti");
      expect([text("#mixing-command code"), value("#mixing")], String(again)).toEqual([
        expect.stringContaining("--mixing alti"),
        "attention",
      ]);
    }
  });
});

describe("methods beside the graph", () => {
  const scores = [9, -0.5, 2, 0, -2, 0.25];
  /** @param alone without raw, rollout and flow */
  function scored(alone: boolean): ReportDocument {
    const { attention, graph, ...others } = report.arrays;
    return {
      ...report,
      settings: { ...report.settings, method: [...(alone ? [] : report.settings.method), "attnlrp"] },
      target: {
        ...{ kind: "class", label: "plural", index: 1, logit: 3 },
        against: { label: "singular", logit: 1, index: 0 },
        title: "class “plural” rather than “singular”",
      },
      scores: [{ method: "attnlrp", parts: [{ name: "biases", value: 0.5 }], total: 9.35, error: 0.1 }],
      check: {
        ...{ quantity: "logit difference", value: 2 },
        tokens: [
          { token: 1, drop: -0.5, spread: 0.1, replacements: [{ text: "dogs", fit: 0.4, value: 2.5 }] },
          { token: 2, drop: 3.25 },
        ],
        maps: [
          {
            ...{ method: "attnlrp", first_token: 2, level: "strong" },
            ...{ effect: "The top-ranked token is right.", order: "The order of the tokens agrees." },
          },
        ],
      },
      ...(alone ? { output_tokens: [], flow_output_tokens: [] } : {}),
      arrays: {
        ...(alone ? { attention, ...(graph && { graph }) } : { attention, ...others }),
        attnlrp: arrayOf([1, n], scores),
      },
    };
  }

  test("say words where the check replaced words", async () => {
    const report = scored(false);
    await open({ ...report, settings: { ...report.settings, words: true } });
    await choose("attnlrp");
    expect(text("#check-heading")).toContain("Without each word");
    expect(text("#check-legend")).toContain("Click a word for what replaced it.");
  });

  test("have signs, a legend that names both ends, and no views that need a matrix", async () => {
    await open(scored(false));
    expect(has("#agreement")).toBe(false);
    await choose("attnlrp");
    expect(text("h1")).toBe("attnlrp of class “plural” rather than “singular”: “ed” argues for it most");
    expect(texts("#agreement p")).toEqual([
      expect.stringMatching(/^The top-ranked token is right\./u),
      "The order of the tokens agrees.",
    ]);
    expect(one<HTMLElement>("#agreement").dataset.level).toBe("strong");
    // The check's own row: red where the prediction rises without the token.
    const checked = (token: number) => `#check-text [data-token="${token}"]`;
    const name = (token: number) => one(checked(token)).getAttribute("aria-label");
    await until(() => name(2));
    expect([0, 1, 2].map((token) => name(token)?.replace(/^.*?(: the|, not)/u, "$1"))).toEqual([
      ", not checked",
      ": the logit difference rises by 0.50 ± 0.1",
      ": the logit difference falls by 3.25",
    ]);
    expect(one(checked(2)).style.backgroundColor).toBe("rgb(5 48 97)");
    await point(checked(1));
    expect(text("#check-readout")).toMatch(/^Without “.+” the logit difference rises by 0\.50 ± 0\.1$/u);
    await click(checked(1));
    expect(all("#replaced tbody th, #replaced tbody td").map(({ textContent }) => textContent)).toEqual([
      ...["dogs", "2.50", "40%"],
    ]);
    await click(checked(2));
    expect(text("#replaced")).toContain("was blanked");
    await click(checked(0));
    expect(has("#replaced")).toBe(false);
    expect(text("#strip-card .about .legend")).toBe("argues against −2.0000+2.0000 argues for");
    // ColorBrewer's ends of red to blue, as in figures.
    const colour = (token: number) => one<HTMLElement>(`#strip [data-token="${token}"]`).style.backgroundColor;
    expect([colour(2), colour(4)].map((rgb) => rgb.match(/\d+/g)?.join())).toEqual(["5,48,97", "103,0,31"]);
    expect(text("#score-parts")).toBe(
      "In addition to the tokens: biases +0.5000. All parts add up to +9.2500 of +9.3500.",
    );
    expect(texts('#rank td.by[data-method="attnlrp"]')).toEqual(["+2.0000", "−2.0000", "−0.5000", "+0.2500", "0"]);
    expect([one("#layer").disabled, one("#output-token").disabled]).toEqual([true, true]);
    expect(["heat", "matrix", "graph", "heads"].filter((id) => has(`#${id}-card`))).toEqual([]);
    expect(text("#one-number")).toMatch(/^attnlrp gives one number per token/u);
    await point('#strip [data-token="4"]');
    expect(text("#strip-readout")).toContain("−2.0000 argues against it");
    // A click chooses no output token of other methods.
    await click('#strip [data-token="4"]');
    await choose("rollout");
    expect(tokens('#strip [aria-selected="true"]')).toEqual([output]);
    await open(scored(true));
    expect(method()).toBe("attnlrp");
  });
});

describe("a decoder whose first token takes most", () => {
  const sunk = fixture("causal").report;
  // The fixture, of whose values the first token takes most; and that token is none of the special ones.
  for (const [name, kept] of Object.entries({ raw: 0.1, rollout: 0.2, flow: 0.2, attention: 0.1 })) {
    const array = sunk.arrays[name];
    const columns = array.shape.at(-1)!;
    sunk.arrays[name] = arrayOf(
      array.shape,
      Array.from(numbersOf(array), (value, at) => kept * value + (at % columns === 0 ? 1 - kept : 0)),
    );
  }
  for (const token of sunk.input.tokens) token.special = false;
  const numbers = new Numbers(sunk);
  const [count, layers] = [sunk.input.tokens.length, sunk.settings.layers];
  /** The largest value of the others, and of the first token, in the rows of the last token. */
  const ends = (name: string, of: number[]) => {
    const rows = of.map((layer) => numbers.row(name, count - 1, [layer])!);
    return [Math.max(...rows.flatMap((row) => row.slice(1, count - 1))), Math.max(...rows.map((row) => row[0]))];
  };
  const range = (legend: string) => (/^0([\d.]+)up to ([\d.]+)$/u.exec(legend) ?? []).slice(1).map(Number);
  const close = (found: number[], expected: number[]) =>
    expect(found.map((number, k) => Math.abs(number - expected[k]) <= 6e-5)).toEqual([true, true]);

  test("it does not count until somebody asks, and a line says how much it takes", async () => {
    await openWhole(sunk);
    await choose("raw");
    expect(text("#sink-note")).toMatch(/^Attention sink excluded: .*9\d% of the total/u);
    expect(one<HTMLElement>('#strip [data-token="0"]').style.backgroundColor).toBe("");
    const top = /^0([\d.]+)/u.exec(text("#strip-card .about .legend"))?.[1] ?? "";
    expect(numberOf(top)).toBeCloseTo(Math.max(...numbers.row("raw", count - 1, layers.slice(-1))!.slice(1)), 4);
    expect([has('#rank tr[data-token="0"]'), has("#heat .above, #matrix .above")]).toEqual([false, false]);
    await click("#sink-toggle");
    expect(text("#sink-note")).toMatch(/^Attention sink included: .*Exclude it$/u);
    expect(has('#rank tr[data-token="0"]')).toBe(true);
    await until(() => location.hash.includes("si=0"));
  });

  test("a map that it holds nearly all of names no token that ranks first", async () => {
    const rollout = sunk.arrays.rollout;
    const columns = rollout.shape.at(-1)!;
    const held = numbersOf(rollout).map((value, at) => (at % columns === 0 ? 1 : 1e-4 * value));
    await openWhole({ ...sunk, arrays: { ...sunk.arrays, rollout: arrayOf(rollout.shape, Array.from(held)) } });
    await choose("rollout");
    expect(text("h1")).toMatch(/: rollout says little, as the attention sink “.+” holds nearly all of it$/u);
    await click("#sink-toggle");
    expect(text("h1")).toMatch(/: rollout ranks the attention sink “.+” first$/u);
    // Small values beside a small sink: their share counts.
    const small = Array.from(held, (value, at) => 1e-3 * (at % columns === 0 ? 1 : 1e4 * value));
    await openWhole({ ...sunk, arrays: { ...sunk.arrays, rollout: arrayOf(rollout.shape, small) } });
    await choose("rollout");
    expect(text("h1")).toMatch(/: rollout ranks “.+” first/u);
  });

  test("a comparison shows the other tokens, both sides of a method on one scale, as maps of layers do", async () => {
    await openWhole(sunk);
    await choose("raw");
    await click("#sink-toggle");
    await click("#compare-button");
    await fill("#compare-method", "raw");
    await fill("#compare-layer", 2);
    const [first, second, difference] = texts("#compare .half .legend");
    expect(second).toBe(first);
    close(range(first), ends("raw", [2, layers.at(-1)!]));
    expect(difference).toMatch(/^−[\d.]+\+[\d.]+/u);
    expect(tokens('#compare [data-side="first"] .above')).toEqual([0]);
    await fill("#compare-method", "rollout");
    await fill("#compare-layer", layers.at(-1)!);
    await check("#compare-shares", false);
    const maps = texts("#compare-card .layer-map .legend");
    for (const [k, name] of ["raw", "rollout"].entries()) close(range(maps[k]), ends(name, layers));
    expect(maps[2]).toMatch(/^−[\d.]+\+[\d.]+(down to −[\d.]+)?(up to \+[\d.]+)?$/u);
    await drawn();
  });

  test("small pictures of heads end their scale below it, and say so", async () => {
    await openWhole(sunk);
    await click("#sink-toggle");
    const legend = () => text("#heads-card .heads-box > :first-child .legend");
    let rest = 0;
    numbersOf(sunk.arrays.attention).forEach((weight, at) => {
      const [query, key] = [Math.floor(at / count) % count, at % count];
      if (key > 0 && key < query && weight > rest) rest = weight;
    });
    close(range(legend().replace("Every head:", "")), [rest, 1]);
    await click("#own-scale");
    expect([legend(), text("#heat-card .legend")]).toEqual([
      "Every head:0each head's endabove it",
      "0each layer's endabove it",
    ]);
  });
});

describe("comparison", () => {
  const short = reportOf("", "short");
  const numbers = new Numbers(short);
  const side = (name: string) => shown(`#compare [data-side="${name}"] .token`);
  const load = (content: unknown) => give("#compare-file", file(content));

  test("of two methods: the difference is that of the values", async () => {
    await openWhole(short);
    await click("#compare-button");
    const shares = () => one("#compare-shares").checked;
    const are = (first: number[], second: number[]) => {
      const part = (values: number[]) => (shares() ? values.map((value) => value / sum(values)) : values);
      const [a, b] = [part(first), part(second)];
      near(side("first"), a);
      near(side("second"), b);
      near(side("difference"), b.map((value, i) => value - a[i]), 1e-5); // prettier-ignore
    };
    const row = (name: string, token: number, layer: number) => numbers.row(name, token, [layer])!;
    expect(shares()).toBe(true); // flow does not sum to 1
    are(row("rollout", 6, 6), row("flow", 6, 6));
    await fill("#compare-method", "rollout");
    await fill("#compare-layer", 2);
    expect(shares()).toBe(false);
    are(row("rollout", 6, 6), row("rollout", 6, 2));
    await click('#strip [data-token="2"]');
    are(row("rollout", 2, 6), row("rollout", 2, 2));
    await until(() => location.hash.includes("b=rollout.2"));
    // More is blue, less is red.
    const most = Math.max(...side("difference").map((value) => Math.abs(value!)));
    for (const { dataset, style } of all('#compare [data-side="difference"] .token')) {
      if (Math.abs(Number(dataset.value)) < 0.3 * most) continue;
      const [red, , blue] = style.backgroundColor.match(/\d+/g)!.map(Number);
      expect(blue > red, dataset.token).toBe(Number(dataset.value) > 0);
    }
    await click("#compare-close");
    expect(has("#compare-card")).toBe(false);
  });

  test("with another report: tokens find their counterparts, predictions stand side by side", async () => {
    const other = reportOf("", "short");
    other.predictions[0].choices[0].label = "isn't";
    other.input.tokens[2].text = "lock";
    await openWhole(short);
    await click("#compare-button");
    await fill("#compare-method", "rollout");
    const page = `<html><script type="application/json" id="report">${JSON.stringify(other)}</script></html>`;
    for (const content of [other, page]) {
      await load(content);
      await until(() => has(".predictions-pair"));
      expect(text(".predictions-pair")).toContain("isn't");
      near(side("difference"), Array(8).fill(0)); // prettier-ignore
      expect(text("#compare-readout")).toContain("the same");
      await click("#compare-drop");
      expect(has(".predictions-pair")).toBe(false);
    }
    for (const [k, token] of other.input.tokens.entries()) token.text = `w${k}`;
    other.input.text = other.input.text.replace(/[a-z]/gu, "x");
    await load(other);
    await until(() => text("#compare-readout").includes("No token that is ranked has a counterpart"));
    await click("#compare-drop");
    await load(reportOf("", "referents"));
    await until(() => has(".predictions-pair"));
    // [CLS], the, the, [MASK] and [SEP] are in both.
    expect(tokens('#compare [data-side="difference"] .token[data-value]')).toEqual([0, 1, 4, 6, 7]);
    for (const [content, why] of [
      ["{", "not a report"],
      ['{"format":"attnflow-report","version":99}', "version 99"],
      ["<html></html>", "found none"],
    ]) {
      await load(content);
      await until(() => text("#compare-problem").includes(why));
    }
  });

  test("with whole words sets words beside words", async () => {
    const words = withWords(reportOf("", "arabic"));
    await open(words);
    await click("#words");
    await click("#compare-button");
    await fill("#compare-method", "rollout");
    await load(words);
    await until(() => has("#compare-drop"));
    for (const name of ["first", "second", "difference"]) {
      expect(all(`#compare [data-side="${name}"] .token[data-value]`).length, name).toBe(11);
    }
    expect(text('#compare [data-side="second"]')).toContain("المفتاح");
    expect([text("#compare-readout"), has("#compare-unlike")]).toEqual([expect.stringContaining("the same"), false]);
    const rows = cells(await saved("compare", "csv"));
    expect(rows.length).toBe(11);
  });
});

test("the answer comes first: the headline, the best map, the check's row, two verdicts, the paper's attention, controls", async () => {
  const document = reportOf("", "short");
  const { attention, graph, ...arrays } = document.arrays;
  void [attention, graph];
  const count = document.input.tokens.length;
  const paper = range(count).map((token) => (token + 1) / 100);
  const map = {
    ...{ method: "flow", layer: 6, first_token: 1, decisive_token: 1, compared: 6, rank_correlation: 0.4 },
    ...{
      level: "weak",
      top_level: "strong",
      order_level: "weak",
      effect: "The top-ranked token is right.",
      order: "In part.",
    },
  } as const;
  await open({
    ...document,
    settings: { ...document.settings, mixing: "relevance" },
    answer: { headline: "“is”, 61%, rather than “are”", method: "flow", map: "flow over relevance", verdicts: [] },
    check: { quantity: "logit difference", value: 2, tokens: [{ token: 1, drop: 1.5 }], maps: [map] },
    arrays: { ...arrays, attention_rollout: arrayOf([1, count], paper) },
  });
  expect(method()).toBe("flow");
  expect(text("h1")).toMatch(/^“is”, 61%, rather than “are”: flow /u);
  expect(text("#strip-card .about")).toMatch(/^flow over relevance/u);
  const levels = all("#agreement p").map(({ dataset }) => [dataset.question, dataset.level]);
  expect(levels).toEqual([
    ["top", "strong"],
    ["order", "weak"],
  ]);
  near(shown("#attention-line .token"), paper);
  const parts = ["h1", "#strip", "#check-text", "#agreement", "#attention-line", "#controls", ".folded"].map((part) =>
    one<HTMLElement>(part),
  );
  const follows = (k: number) =>
    Boolean(parts[k].compareDocumentPosition(parts[k + 1]) & Node.DOCUMENT_POSITION_FOLLOWING);
  expect(range(parts.length - 1).map(follows)).toEqual(range(parts.length - 1).map(() => true));
  // All else is folded until its heading is pressed.
  const folded = () => all("#rank-card.folded, #rank-body[hidden]").length;
  expect(folded()).toBe(2);
  await click("#rank-heading .fold");
  expect(folded()).toBe(0);
  await click("#rank-heading .fold");
  expect(folded()).toBe(2);
});
