// The page of a text: its numbers, what is chosen, filters, the link, and the files it saves.
import { describe, expect, test, vi } from "vitest";
import {
  all,
  cells,
  check,
  checked,
  choose,
  click,
  drawn,
  fill,
  goTo,
  has,
  idle,
  largest,
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
import { arrayOf, embeddedOf, Numbers, precisionOf, reportOf, withWords } from "./samples";

const short = () => new Numbers(reportOf("", "short"));
const ranked = () => tokens("#rank tbody tr");
const sorted = (list: number[]) => list.toSorted((a, b) => a - b);
const token = (k: number) => `#strip [data-token="${k}"]`;

const looksOf = ({ dataset, className, style }: HTMLElement) => [dataset.value, className, style.backgroundColor];

describe.each(["short", "long", "referents-pieces", "single", "array"])("numbers of %s", (name) => {
  const numbers = new Numbers(reportOf("", name));
  const { report } = numbers;
  const document = embeddedOf("", name);
  const precision = precisionOf(document);

  test("are those of the report, for every method and layer, in the text and in the ranking", async () => {
    await openWhole(document);
    const output = report.output_token;
    const { layers } = report.settings;
    for (const name of numbers.methods) {
      await choose(name);
      for (const layer of new Set([layers[0], layers[layers.length - 1]])) {
        if (layers.length > 1) await fill("#layer", layers.indexOf(layer));
        await idle();
        const expected = numbers.row(name, output, [layer]) ?? [];
        near(shown("#strip .token"), expected, precision);
        const first = expected[ranked()[0]];
        expect(first).toBeGreaterThanOrEqual(Math.max(...expected) * (1 - 2 * precision) - 1e-7);
        for (const cell of all("#rank tbody td[data-method]")) {
          const row = numbers.row(cell.dataset.method ?? "", output, [layer]) ?? [];
          const expected = row[Number(cell.parentElement?.dataset.token)];
          const digits = expected < 0.001 ? 0.06 * expected : 0.0000501;
          expect(Math.abs(numberOf(cell.firstChild?.textContent ?? "") - expected)).toBeLessThanOrEqual(
            digits + Math.max(1e-7, precision * expected),
          );
        }
      }
    }
    const [other] = numbers.rows(numbers.methods[0]);
    await choose(numbers.methods[0]);
    await click(token(other));
    expect([value("#output-token"), tokens('#strip [aria-selected="true"]')]).toEqual([String(other), [other]]);
    near(shown("#strip .token"), numbers.row(numbers.methods[0], other, layers.slice(-1)), precision);
  });
});

test.each(["arabic", "emoji", "chinese", "markup"])("the text of %s stands there, each token once", async (name) => {
  const { input } = reportOf("", name);
  const expected = [input.text, input.text_pair].filter(Boolean);
  await open(embeddedOf("", name));
  expect(tokens("#strip .token")).toEqual(range(input.tokens.length));
  expect(texts("#strip .token").every((one) => one.length > 0)).toBe(true);
  const written = all("#strip .line").map(({ childNodes }) =>
    [...childNodes]
      .filter((node) => !(node as HTMLElement).classList?.contains("chip"))
      .map((node) => node.textContent),
  );
  expect(written.map((parts) => parts.join(""))).toEqual(expected);
  // Markup stays text.
  expect(all("#page main b").filter((bold) => bold.textContent?.includes("&"))).toEqual([]);
});

test("a row that was not computed is said to be missing", async () => {
  const report = reportOf("", "short");
  // Neither flow nor what the page would compute it of.
  report.arrays = { rollout: report.arrays.rollout };
  await open(report, "#v=1&b=flow.5");
  const half = (side: string) => text(`#compare [data-side="${side}"]`);
  expect(half("second")).toMatch(/No flow values for “\[MASK\]” \(position 6\) at layer 5\..*does not hold/);
  for (const said of [half("difference"), text("#compare-readout")])
    expect(said).toContain("B has no flow values at layer 5");
  expect([all('#compare [data-side="first"] [data-value]').length, value("#compare-method")]).toEqual([8, "flow"]);
  await goTo("#v=1&m=flow&b=rollout.6");
  expect(half("difference")).toContain("A has no flow values at layer 6");
  expect(text("#strip-readout")).toContain("No flow values");
  expect(shown("#strip .token")).toEqual(Array(8).fill(null));
});

describe("cards", () => {
  test("layers by tokens: a cell for each, which chooses", async () => {
    const numbers = short();
    await openWhole(numbers.report);
    const { layers } = numbers.report.settings;
    const expected = layers.toReversed().flatMap((layer) => numbers.row("rollout", 6, [layer]) ?? []);
    const printed = texts("#heat .value").map(numberOf);
    expect(printed.map((number, i) => Math.abs(number - expected[i]) < 6e-5)).toEqual(expected.map(() => true));
    const first = all("#heat .cells rect")[5 * 8];
    first.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
    await fill("#layer", 0);
    expect([text("#layer-name"), all("#graph circle").length]).toEqual(["1 of 6", 16]);
    // The lines of one layer leave the chosen token only.
    expect(new Set(all("#graph line").map((line) => line.getAttribute("x1"))).size).toBe(1);
    await fill("#layer", 5);
    expect(all("#graph circle").length).toBe(7 * 8);
  });

  test("over relevance, the graph's nodes are sized by what goes through the feed-forward nets", async () => {
    const { report } = short();
    const radii = () => all("#graph circle").map((circle) => Number(circle.getAttribute("r")));
    await openWhole(report);
    await click('input[name="graph-kind"][value="share"]');
    const before = radii();
    expect(has("#node-legend")).toBe(false);
    // All of layer 3, and nothing of the others.
    const [layers, n] = [6, 8];
    const shares = Array.from({ length: layers * n }, (_, at) => (Math.floor(at / n) === 2 ? 1 : 0));
    const feed_forward = arrayOf([layers, n], shares);
    await openWhole({ ...report, arrays: { ...report.arrays, feed_forward } });
    await click('input[name="graph-kind"][value="share"]');
    expect(has("#node-legend")).toBe(true);
    const row = (layer: number) => radii().slice((layers - layer) * n, (layers - layer + 1) * n);
    expect([Math.max(...row(3)), Math.max(...row(4)), Math.max(...row(2))]).toEqual([9, 2, 2]);
    // A maximum flow has sizes of its own.
    await click('input[name="graph-kind"][value="flow"]');
    expect([has("#node-legend"), before.length]).toEqual([false, radii().length]);
  });

  test.each(["referents", "referents-pieces"])("weights on the referents are those of the report: %s", async (name) => {
    const numbers = new Numbers(reportOf("", name));
    const { referents = [], settings, output_token: output } = numbers.report;
    await open(numbers.report);
    for (const token of [output, 0]) {
      if (token !== output) await click(`#strip [data-token="${token}"]`);
      const found = all("#referents td").map(({ dataset, textContent }): Record<string, string | undefined> => {
        return { ...dataset, said: textContent ?? "" };
      });
      const expected = settings.layers.flatMap((layer) =>
        numbers.methods.slice(0, name === "referents" ? 3 : 2).flatMap((method) => {
          const row = numbers.row(method, token, [layer]);
          if (!row) return [];
          const weights = referents.map(({ tokens }) => sum(tokens.map((i) => row[i])));
          return weights.map((weight, k) => ({ method, k, weight, share: weight / sum(weights) }));
        }),
      );
      expect(found.map(({ method, referent }) => [method, referent])).toEqual(
        expected.map(({ method, k }) => [method, String(k)]),
      );
      near(found.map(({ value }) => Number(value)), expected.map(({ weight }) => weight)); // prettier-ignore
      near(found.map(({ share }) => Number(share)), expected.map(({ share }) => share)); // prettier-ignore
      for (const [i, { said }] of found.entries())
        expect(said).toMatch(new RegExp(`${(100 * expected[i].share).toFixed(0)}%$`));
      const candidates = text("#referents-help").includes("Among the candidates: he 32.8%, she 67.2%.");
      expect(candidates).toBe(token === output);
    }
    if (name !== "referents") return;
    expect(texts("#referents thead bdi").slice(0, 3)).toEqual(["author (2)", "Brobdingnag", "author (7)"]);
    // A word that the vocabulary lacks is marked.
    expect(texts("#strip .unknown")).toEqual(["Brobdingnag"]);
    expect(text('#rank [data-token="4"] th')).toContain("Brobdingnag [?]");
    expect(text("#notes")).toContain("not in the model's vocabulary");
  });

  test("a word of several tokens has ticks until words are merged", async () => {
    const report = withWords(reportOf("", "long"));
    await open(report);
    const pieces = report.input.tokens.flatMap(({ text }, i) => (text.startsWith("##") ? [i] : []));
    expect(tokens("#strip .continues")).toEqual(pieces);
    expect(text("#strip-help")).toContain("A tick below a word shows where it is split into tokens");
    await click("#words");
    await until(() => !has("#strip .continues"));
    expect(text("#strip-help")).not.toContain("A tick below a word");
  });

  test("settings say what is shown, and lead back to the report", async () => {
    const said = (term: string) => text(`#settings [data-setting="${term}"]`);
    await openWhole(reportOf("", "short"));
    expect([said("Residual"), has("#recomputed")]).toEqual([expect.stringMatching(/^weight 0\.5/), false]);
    await fill("#residual", 0.2);
    await fill("#to-layer", 2);
    expect(said("Residual")).toMatch(/^weight 0\.2.*In the report: 0\.5/);
    expect(said("Layers")).toMatch(/^6 down to layer 2/);
    expect(said("Numbers")).toContain("in the browser");
    expect(text("#recomputed")).toContain("2 settings differ from the report: residual, layers");
    const row = cells(await saved("settings", "csv")).find(({ setting }) => setting === "Residual");
    expect(row).toMatchObject({ value: expect.stringMatching(/^weight 0\.2/), in_the_report: "0.5" });
    await click('[data-setting="Residual"] button');
    expect([value("#residual"), document.activeElement?.id]).toEqual(["0.5", "settings"]);
    await click("#settings-reset");
    expect([has("#recomputed"), said("Numbers")]).toEqual([false, expect.stringContaining("from the report")]);
    await choose("raw");
    expect(said("Layers")).toBe("6 alone");
  });

  test("notes are those that apply", async () => {
    await openWhole(embeddedOf("", "long"));
    expect(has("#notes")).toBe(false);
    await choose("flow");
    await idle();
    expect(text("#notes")).toMatch(/At layer 6, \d+% of the flow values/);
    // Both places count the same ranked values.
    const counts = (id: string) => /(\d+ of \d+) (?:ranked values|values)/u.exec(text(id))?.[1];
    const whole = counts("#flow-belief");
    expect(counts("#rank-help")).toBe(whole);
    await check("#skip-special");
    expect(counts("#flow-belief")).not.toBe(whole);
    expect(counts("#rank-help")).toBe(counts("#flow-belief"));
    await fill("#residual", 0.2);
    expect(has("#notes")).toBe(false);
  });
});

describe("what is chosen", () => {
  test("stands in the link, and a link chooses it", async () => {
    await open(reportOf("", "short"));
    await choose("flow");
    await fill("#layer", 2);
    await until(() => location.hash === "#v=1&m=flow&l=3");
    await fill("#output-token", 4);
    await until(() => location.hash === "#v=1&m=flow&l=3&t=4");
    await goTo("#v=1&m=raw&t=2");
    expect([method(), value("#output-token"), text("#layer-name")]).toEqual(["raw", "2", "6 of 6"]);
    const copied = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: copied } });
    await click("#link-button");
    expect(copied).toHaveBeenCalledWith(expect.stringMatching(/#v=1&m=raw&t=2$/));
    expect(text("#live")).toContain("copied");
  });

  test.each([
    "v=1&m=constructor&l=99&t=-1&h=%3Cscript%3E&r=2&p=red&x=1.2.99999&b=flow.7&c=Infinity&i=8&hd=12",
    "%E0%A4%A&v=1&&&=&==",
  ])("a link from anyone changes nothing that does not fit: %.40s", async (link) => {
    await open(reportOf("", "short"));
    const before = all("#strip .token").map(looksOf);
    await goTo(`#${link}`);
    expect(all("#strip .token").map(looksOf)).toEqual(before);
    if (!/^v=/u.test(link)) return;
    expect(text("#link-misread")).toMatch(/^The link does not fit this page; left out: “/);
    await press("1");
    expect(has("#link-misread")).toBe(false);
  });

  test("what is pointed at is pointed at in every view, in words, too", async () => {
    await openWhole(reportOf("", "short"));
    await point(token(3));
    const pointed = () =>
      all(".pointed[data-token]").map((one) => `${one.closest("section")?.id}:${one.dataset.token}`);
    expect(pointed()).toEqual(expect.arrayContaining(["strip-card:3", "rank-card:3"]));
    expect(pointed().filter((one) => one === ":3").length).toBe(3);
    expect(text("#strip-readout")).toMatch(
      /^.+ ← “to”: [\d.]+% \(rollout, layer 6\)rank \d+ of \d+ · raw [\d.]+% · flow [\d.]+/u,
    );
    await point('#rank tr[data-token="5"] th');
    expect(pointed()).toContain("strip-card:5");
  });

  test.each([
    ["#strip", 2, 3, 4],
    ["#rank tbody", 5, 1, 6],
  ])(
    "clicks in %s: plain explains, with shift compares, with control excludes",
    async (where, first, second, third) => {
      const numbers = short();
      await openWhole(numbers.report);
      const place = (k: number) => `${where} [data-token="${k}"]`;
      await click(place(first));
      expect(value("#output-token")).toBe(String(first));
      const best = largest(numbers, "rollout", first, [6]);
      expect(text("#live")).toMatch(
        new RegExp(`^Output token “.+” \\(position ${first}\\), rollout, layer 6: “.+” \\(position ${best}\\) `),
      );
      await click(place(second), { shiftKey: true });
      expect([value("#output-token"), value("#compare-token")]).toEqual([String(first), String(second)]);
      near(shown('#compare [data-side="second"] .token'), numbers.row("rollout", second, [6]));
      await click(place(third), { ctrlKey: true });
      expect([value("#output-token"), ranked().includes(third)]).toEqual([String(first), false]);
      await until(() => location.hash.includes(`b=rollout.6.t${second}`));
    },
  );

  test("keys choose, but not while a dialog is open or a field is typed in", async () => {
    await open(reportOf("", "short"));
    await press("1");
    expect(method()).toBe("raw");
    await press("3", "[", "k");
    expect([method(), text("#layer-name"), value("#output-token")]).toEqual([
      "flow",
      expect.stringMatching(/^5 of/),
      "5",
    ]);
    const skips = checked("#skip-special");
    await press("s");
    expect(checked("#skip-special")).toBe(!skips);
    const ground = document.documentElement.dataset.theme;
    await press("d");
    expect(document.documentElement.dataset.theme).not.toBe(ground);
    await press("?");
    expect(one<HTMLDialogElement>("#help").open).toBe(true);
    one("#help button").focus();
    await press("1");
    expect(method()).toBe("flow");
    one<HTMLDialogElement>("#help").close();
    await press("f");
    one("#pattern").focus();
    await press("1", "c");
    expect([method(), has("#compare-card")]).toEqual(["flow", false]);
  });
});

describe("filters", () => {
  test("exclude tokens and say which share of the mass that is", async () => {
    const numbers = short();
    const { tokens } = numbers.report.input;
    const values = numbers.row("rollout", 6, [6]) ?? [];
    await openWhole(numbers.report);
    const said = (left: number[]) => {
      const share = (100 * sum(left.map((i) => values[i]))) / sum(values);
      expect(text("#excluded-of-all")).toMatch(
        new RegExp(`^${left.length} of 8 tokens are excluded: ${share.toFixed(0)}% of the total`),
      );
      expect(sorted(ranked())).toEqual(range(8).filter((i) => !left.includes(i)));
      // Special tokens set no top that they lie far above.
      const top = (special: boolean) =>
        Math.max(0, ...values.filter((_, i) => !left.includes(i) && Boolean(tokens[i].special) === special));
      const [rest, aside] = [top(false), top(true)];
      const end = rest > 0 && aside > 2 * rest ? Math.max(rest, aside / 100) : Math.max(rest, aside);
      expect(texts("#strip-card .about .legend span").some((said) => Math.abs(numberOf(said) - end) < 6e-5)).toBe(true);
    };
    await click("#filters-button");
    expect(text("#excluded-of-all")).toBe("No token is excluded.");
    await check("#skip-stop-words");
    said([1, 3, 4]);
    await fill("#pattern", "^cab|key$");
    said([1, 2, 3, 4, 5]);
    await check("#skip-special");
    await check("#skip-stop-words", false);
    said(range(8).filter((i) => tokens[i].special || i === 2 || i === 5));
    await check("#skip-special", false);
    for (const [pattern, why] of [
      ["(", /unterminated/i],
      ["(a|aa)+$", /may not be repeated/],
      ["[a-z", /class|unterminated/i],
    ] as const) {
      await fill("#pattern", pattern);
      expect([text("#pattern-problem"), text("#excluded-of-all")]).toEqual([
        expect.stringMatching(why),
        "No token is excluded.",
      ]);
    }
    await fill("#pattern", "");
    await click(token(4), { ctrlKey: true });
    expect(value("#output-token")).toBe("6"); // it chose nothing
    one(token(6)).focus();
    await press("x");
    expect(sorted(ranked())).toEqual([0, 1, 2, 3, 5, 7]);
    await click("#excluded-chips button");
    expect(sorted(ranked())).toEqual([0, 1, 2, 3, 4, 5, 7]);
  });

  test("that are not yet the answer are said to be, below the headline alone", async () => {
    const report = short().report;
    const document = embeddedOf("", "short");
    await openWhole(document);
    expect(has("#not-the-answer")).toBe(false);
    const note = {
      code: "not-the-answer",
      values: { mixing: "contributions (ALTI)" },
      text: "Not yet the answer: so.",
    };
    await openWhole({ ...document, notes: [...report.notes, note] });
    expect(text("header #not-the-answer")).toBe("Not yet the answer: so.");
    expect(texts("#notes li").join()).not.toContain("Not yet");
  });

  test("that leave little to rank are said below the headline", async () => {
    const numbers = short();
    const values = numbers.row("rollout", 6, [6]) ?? [];
    const least = values.indexOf(Math.min(...values));
    await openWhole(numbers.report);
    for (const k of range(8)) if (k !== least) await click(token(k), { ctrlKey: true });
    const [, percent] =
      /^Only (\d+)% of the total lies on the tokens that are ranked\.$/u.exec(text("#little-ranked")) ?? [];
    expect(Math.abs(Number(percent) - (100 * values[least]) / sum(values))).toBeLessThanOrEqual(0.5);
    await choose("flow");
    expect(has("#little-ranked")).toBe(false);
  });

  test("a full stop ranked first leaves the first word named, and can be excluded", async () => {
    const numbers = short();
    const report = withWords(reportOf("", "short"));
    const values = numbers.row("rollout", 6, [6]) ?? [];
    // The token that rollout ranks first, of those that are no special ones, becomes a mark.
    const order = [1, 2, 3, 4, 5].sort((a, b) => values[b] - values[a]);
    const words = report.input.tokens.map(({ text }, i) => (i === order[0] ? "." : text));
    report.input.text = words.slice(1, 7).join(" ");
    for (const i of [1, 2, 3, 4, 5, 6]) {
      const begin = words.slice(1, i).join(" ").length + (i > 1 ? 1 : 0);
      Object.assign(report.input.tokens[i], { text: words[i], begin, end: begin + words[i].length });
    }
    await open(report);
    await click(token(6), { ctrlKey: true });
    expect(text("#heading")).toMatch(new RegExp(`ranks “\\.” first and, among words, “${words[order[1]]}”$`));
    await click("#filters-button");
    await check("#skip-punctuation");
    expect(text("#heading")).toMatch(new RegExp(`ranks “${words[order[1]]}” first$`));
  });

  test("the headline numbers a word that stands in the text before", async () => {
    const numbers = short();
    const report = withWords(reportOf("", "short"));
    const content = [1, 2, 3, 4, 5, 6];
    const firstOf = (output: number) => {
      const values = numbers.row("rollout", output, [6]) ?? [];
      return [...content].sort((a, b) => values[b] - values[a])[0];
    };
    const output = content.find((one) => firstOf(one) > 1);
    expect(output).toBeDefined();
    const first = firstOf(output!);
    const words = report.input.tokens.map(({ text }, i) => (i === 1 || i === first ? "twice" : text));
    report.input.text = words.slice(1, 7).join(" ");
    for (const i of content) {
      const begin = words.slice(1, i).join(" ").length + (i > 1 ? 1 : 0);
      Object.assign(report.input.tokens[i], { text: words[i], begin, end: begin + words[i].length });
    }
    await open(report);
    await click(token(output!));
    expect(text("#heading")).toMatch(/ranks “twice” \(2\) first$/u);
  });

  test("the headline names the target, not another prediction", async () => {
    const report = reportOf("", "short");
    const { choices } = report.predictions[0];
    await open(report);
    expect(text("#heading")).toMatch(new RegExp(`^“${choices[0].label}”, `));
    const without = { ...report, answer: undefined }; // as in older documents
    await open({ ...without, target: { kind: "class", label: choices[1].label, index: 1, logit: 0 } });
    expect(text("#heading")).toMatch(new RegExp(`^“${choices[1].label}”, [\\d.]+%: `));
    await open({ ...without, target: { kind: "class", label: "neither", index: 7, logit: 0 } });
    expect(text("#heading")).toMatch(/^“neither”: /);
  });

  test("the headline names an embedding, which has no choices", async () => {
    const report = { ...reportOf("", "short"), answer: undefined };
    const predictions = [{ kind: "embedding", position: report.output_token, choices: [], candidates: [] }];
    await open({ ...report, predictions });
    expect(text("#heading")).toMatch(/^The embedding: /);
    expect(all("#predictions")).toHaveLength(0);
    const target = {
      label: "the embedding",
      index: 0,
      logit: 1,
      title: "the embedding",
      quantity: "cosine similarity",
    };
    await open({ ...report, predictions, target: { kind: "similarity", ...target } });
    expect(text("#heading")).toMatch(/^The similarity: /);
  });

  test("special tokens are excluded as a page opens", async () => {
    const numbers = short();
    const { tokens: pieces } = numbers.report.input;
    await open(numbers.report);
    const ordinary = range(8).filter((i) => !pieces[i].special);
    expect([checked("#skip-special"), sorted(ranked())]).toEqual([true, ordinary]);
    const top = Math.max(...ordinary.map((i) => numbers.row("rollout", 6, [6])?.[i] ?? 0));
    expect(numberOf(texts("#strip-card .about .legend span").at(-1) ?? "")).toBeCloseTo(top, 4);
  });
});

test("files hold the report's numbers: CSV and JSON of every card the same rows", async () => {
  const numbers = short();
  await openWhole(numbers.report);
  await click("#compare-button");
  const cards = all(".card .export").map((menu) => (menu.closest(".card")?.id ?? "").replace(/-card$/, ""));
  expect(cards.sort()).toEqual(["compare", "graph", "heat", "matrix", "methods", "rank", "settings", "strip"]);
  for (const card of cards) {
    const { view, columns, rows } = JSON.parse(await saved(card, "json")) as Record<
      "view" | "columns" | "rows",
      unknown[]
    >;
    const csv = (await saved(card, "csv")).trimEnd().split("\r\n");
    expect(view, card).toBe(card === "strip" ? "text" : card);
    const plain = (cell: unknown) => {
      const said = String(cell ?? "");
      return /[",\n]/u.test(said) ? `"${said.replaceAll('"', '""')}"` : said;
    };
    expect(csv, card).toEqual(
      [columns, ...(rows as unknown[][])].map((row) => (row as unknown[]).map(plain).join(",")),
    );
  }
  const rows = cells(await saved("strip", "csv"));
  expect(rows.map(({ token }) => token)).toEqual(["[CLS]", "The", "key", "to", "the", "cabinets", "[MASK]", "[SEP]"]);
  near(rows.map(({ rollout }) => Number(rollout)), numbers.row("rollout", 6, [6])); // prettier-ignore
  for (const line of cells(await saved("rank", "csv"))) {
    for (const name of numbers.methods) {
      expect(Number(line[name])).toBeCloseTo(numbers.row(name, 6, [6])?.[Number(line.input_token)] ?? NaN, 6);
    }
  }
  await drawn();
});
