// The page of a picture: its patches' values, choosing, ranking, pointing. Painting is tested in a browser.
import { describe, expect, test } from "vitest";
import {
  all,
  cells,
  choose,
  click,
  fill,
  has,
  idle,
  near,
  numberOf,
  one,
  open,
  openWhole,
  point,
  press,
  saved,
  share,
  sum,
  text,
  tokens,
  until,
} from "./page";
import { embeddedOf, Numbers, precisionOf, reportOf } from "./samples";

function sampleOf(name: string) {
  const numbers = new Numbers(reportOf("image", name));
  const { input, settings } = numbers.report;
  const { rows, columns, first_patch: first } = input.image!;
  const patches = Array.from({ length: rows * columns }, (_, p) => first + p);
  const specials = [...input.tokens.keys()].filter((i) => !patches.includes(i));
  const document = embeddedOf("image", name);
  const map = (method: string, token: number, layer: number) => {
    const row = numbers.row(method, token, [layer]);
    return row && patches.map((patch) => row[patch]);
  };
  const { layers } = settings;
  return { numbers, rows, columns, first, patches, specials, document, map, layers, last: layers[layers.length - 1] };
}

const patchValues = () => all("#stages .cell").map(({ dataset }) => (dataset.value ? Number(dataset.value) : null));
const selected = () => tokens('#stages .cell[aria-selected="true"]');
const chooseToken = (token: number) =>
  click(`#stages .cell[data-token="${token}"], #specials button[data-token="${token}"]`);

describe.each(["small", "around", "least"])("%s", (name) => {
  const { numbers, patches, specials, document, map, layers, last } = sampleOf(name);
  const { report } = numbers;
  const precision = precisionOf(document);
  const first = numbers.methods.includes("rollout") ? "rollout" : numbers.methods[0];

  test("its numbers are those of the report, for every method and layer; shares lie on special tokens", async () => {
    await openWhole(document);
    for (const method of numbers.methods) {
      await choose(method);
      const token = numbers.rows(method).at(-1)!;
      await chooseToken(token);
      for (const layer of new Set([layers[0], last])) {
        await fill("#layer", layers.indexOf(layer));
        near(patchValues(), map(method, token, layer), precision);
      }
      const row = numbers.row(method, token, [last])!;
      const shares = [patches, ...specials.map((special) => [special])].map((part) => sum(part.map((j) => row[j])));
      const said = all("#shares li").map(({ lastChild }) => share(lastChild?.textContent ?? ""));
      expect(said.length).toBe(shares.length);
      for (const [k, part] of shares.entries()) expect(Math.abs(said[k] - part / sum(row))).toBeLessThanOrEqual(0.0061);
    }
  });

  test("patches are ranked, and lead to each other", async () => {
    await openWhole(document);
    await chooseToken(report.output_token);
    if (has("#rank-all")) await click("#rank-all");
    const values = numbers.row(first, report.output_token, [last])!;
    const shown = all("#rank tbody tr").map(({ dataset }) => Number(dataset.token));
    expect(shown.toSorted((a, b) => a - b)).toEqual(patches);
    const numbersShown = all("#rank tbody tr [data-value]").map(({ dataset }) => Number(dataset.value));
    near(numbersShown, shown.map((token) => values[token]), precision); // prettier-ignore
    expect(numbersShown).toEqual(numbersShown.toSorted((a, b) => b - a));
    expect(all("#rank .thumbnail").length).toBe(patches.length);
    await click(`#rank tr[data-token="${shown[1]}"] button`);
    expect(selected()).toEqual([shown[1]]);
    // Special tokens are buttons, by their names.
    expect(tokens("#specials button")).toEqual(specials);
    for (const token of specials) {
      await chooseToken(token);
      expect([tokens('#specials [aria-pressed="true"]'), selected()]).toEqual([[token], []]);
    }
  });
});

describe("of a picture", () => {
  const { numbers, first, rows, columns, document, map, layers, last } = sampleOf("small");
  const { report } = numbers;
  const output = report.output_token;

  test("the page says what the model was given and predicted", async () => {
    await open(document);
    const { width, height } = report.input.image!;
    const given = `${4 * columns} × ${4 * rows} pixels, gray`;
    expect(text("#model")).toContain(` · ${given} · `);
    expect(text("#settings")).toContain(`${width} × ${height} pixels; given to the model as ${given}`);
    const { choices } = report.predictions[0];
    expect(all("#predictions li").map(({ firstChild }) => firstChild?.textContent)).toEqual(
      choices.map(({ label }) => label),
    );
    for (const [k, { lastChild }] of all("#predictions li").entries()) {
      const [, bound, number] = /^(over |under |)([\d.]+)%$/u.exec(lastChild?.textContent ?? "") ?? [];
      const apart = 100 * choices[k].probability - Number(number);
      if (bound) expect(apart > 0).toBe(bound === "over ");
      else expect(Math.abs(apart)).toBeLessThan(0.0501);
    }
  });

  test("patches are walked through with the keyboard", async () => {
    await openWhole(document);
    const at = (row: number, column: number) => first + row * columns + column;
    const middle = Math.floor(rows / 2);
    await chooseToken(at(middle, 3));
    for (const [key, token] of [
      ["Home", at(middle, 0)],
      ["End", at(middle, columns - 1)],
      ["ArrowLeft", at(middle, columns - 2)],
      ["ArrowUp", at(middle - 1, columns - 2)],
      ["PageDown", at(rows - 1, columns - 2)],
      ["ArrowDown", at(rows - 1, columns - 2)],
      ["PageUp", at(0, columns - 2)],
      ["ArrowRight", at(0, columns - 1)],
      ["ArrowRight", at(0, columns - 1)],
    ] as const) {
      await press(key);
      expect([selected(), (window.document.activeElement as HTMLElement).dataset.token], key).toEqual([
        [token],
        String(token),
      ]);
    }
    expect(all('#stages .cell[tabindex="0"]').length).toBe(1);
  });

  test("a layer is chosen in the strip, by click and by key", async () => {
    await openWhole(document);
    const strip = '#strips figure[data-method="rollout"]';
    expect(all(`${strip} .layer`).length).toBe(layers.length);
    await click(`${strip} .layer`);
    one(`${strip} .layer`).focus();
    for (const [key, layer] of [
      ["", layers[0]],
      ["ArrowRight", layers[1]],
      ["End", last],
    ] as const) {
      if (key) await press(key);
      near(patchValues(), map("rollout", output, layer));
    }
    expect([all(`${strip} [aria-selected="true"]`).length, all(`${strip} [tabindex="0"]`).length]).toEqual([1, 1]);
  });

  test("methods stand side by side", async () => {
    await open(document);
    expect(all("#stages figure").length).toBe(1);
    await click("#side");
    expect(all("#stages figure").map(({ dataset }) => dataset.method)).toEqual(numbers.methods);
    await click("#side");
    // Maps of one method have no more to stand beside.
    await open(embeddedOf("image", "least"));
    expect(has("#side")).toBe(sampleOf("least").numbers.methods.length > 1);
  });

  test("pointing at a patch points at it in the table, and the other way", async () => {
    await openWhole(document);
    await point("#rank tbody tr[data-token] th, #rank tbody tr[data-token] td");
    const line = Number(one<HTMLElement>("#rank tbody tr").dataset.token);
    expect(has(".pointed-patch")).toBe(true);
    const said = numberOf(text("#picture-readout b"));
    expect(said).toBeCloseTo(numbers.row("rollout", output, [last])![line], 3);
  });

  test("a file has the patches' numbers", async () => {
    await openWhole(document);
    const lines = cells(await saved("picture", "csv"));
    near(lines.map((line) => Number(Object.values(line).at(-1))), map("rollout", output, last)); // prettier-ignore
  });

  test("flow of a token that the report does not hold is computed in the page", async () => {
    const { numbers, patches } = sampleOf("tokens");
    const missing = patches.find((token) => !numbers.rows("flow").includes(token))!;
    await openWhole(reportOf("image", "tokens"));
    await choose("flow");
    // All pairs are not there: their place says how to get them.
    expect(text("#matrix-missing")).toContain("flow was computed for the output token “[CLS]” only");
    expect(text("#matrix-missing code")).toContain("--output-token all");
    await chooseToken(missing);
    await until(() => text("#recipe-source").startsWith("Recomputed"));
    await idle();
    expect(patchValues()).not.toContain(null);
    expect(all("#rank tbody tr").length).toBeGreaterThan(0);
  });
});

/** A check in which patch `decisive` matters most, whatever patch the maps rank first. */
const checkOf = (
  first: number,
  patches: readonly number[],
  decisive: number,
  layer: number,
  top: "strong" | "unknown",
) => ({
  ...{ quantity: "logit difference", value: 3 },
  tokens: patches.map((token) => ({ token, drop: token === decisive ? 2 : 0.1 })),
  maps: [
    { method: "rollout" as const, layer, first_token: first, decisive_token: decisive, compared: patches.length },
  ].map((map) => ({
    ...map,
    level: top,
    top_level: top,
    order_level: "none" as const,
    effect: "It is.",
    order: "No.",
  })),
});

test("the patch that decides and the one ranked first are outlined, with the numbers of rows and columns", async () => {
  const { document, patches, map, last, rows, columns, numbers } = sampleOf("small");
  const output = numbers.report.output_token ?? 0;
  const values = map("rollout", output, last)!;
  const first = patches[values.indexOf(Math.max(...values))];
  const decisive = patches.find((patch) => patch !== first)!;
  const marks = (stage: string) => all(`${stage} .marks g`).map(({ dataset }) => [Number(dataset.token), dataset.mark]);
  const both = [
    [decisive, "decides"],
    [first, "first"],
  ];
  await open({ ...document, check: checkOf(first, patches, decisive, last, "strong") });
  await choose("rollout");
  expect([marks("#stages"), marks("#check-card")]).toEqual([both, both]);
  expect(all(".marks-legend li").map(({ textContent }) => textContent)).toEqual([
    expect.stringMatching(/^row \d+, column \d+: without it the prediction falls most$/u),
    expect.stringMatching(/^row \d+, column \d+: ranked first by this map$/u),
  ]);
  // A saved picture has them, too.
  const picture = await saved("picture", "svg");
  expect([picture.split('stroke-width="2.5"').length - 1, picture.split("stroke-dasharray").length - 1]).toEqual([
    2, 1,
  ]);
  expect(picture).toContain("Solid outline: row ");
  const edge = (side: string) => all(`#stages .edge.${side} span`).map(({ textContent }) => Number(textContent));
  const counted = (count: number) => Array.from({ length: count }, (_, k) => k + 1);
  expect([edge("rows"), edge("columns")]).toEqual([counted(rows), counted(columns)]);
  // One patch may be both; where none decides, none is said to.
  await open({ ...document, check: checkOf(first, patches, first, last, "strong") });
  await choose("rollout");
  expect(marks("#stages")).toEqual([[first, "decides first"]]);
  await open({ ...document, check: checkOf(first, patches, decisive, last, "unknown") });
  await choose("rollout");
  expect(marks("#stages")).toEqual([[first, "first"]]);
});

test("the curve of the best map is drawn, and saved", async () => {
  const { document } = sampleOf("small");
  await openWhole(document);
  expect(has("#curve-card")).toBe(false);
  const curve = { order: "flow" as const, steps: [0, 0.5, 1], insertion: [0.1, 0.8, 0.9], deletion: [0.9, 0.2, 0.1] };
  await openWhole({ ...document, curve });
  expect(text("#curve-heading")).toBe("In the order of flow");
  for (const name of ["insertion", "deletion"] as const) {
    const points = all(`#curve .${name} [data-value]`).map(({ dataset }) => [dataset.share, dataset.value].map(Number));
    expect(points).toEqual(curve.steps.map((share, k) => [share, curve[name][k]]));
  }
  expect(text("#curve-card .marks-legend")).toMatch(/insertion.*\(area 0\.65\).*deletion.*\(area 0\.35\)/u);
  const lines = cells(await saved("curve", "csv"));
  expect(lines.map((line) => [line.share, line.insertion, line.deletion].map(Number))).toEqual([
    [0, 0.1, 0.9],
    [0.5, 0.8, 0.2],
    [1, 0.9, 0.1],
  ]);
});

test("what the model does without each patch stands beside the maps", async () => {
  const { document, first, patches } = sampleOf("small");
  const at = (place: number) => `#check-card .cell[data-token="${first + place}"]`;
  const tried = [
    { text: "mean of its neighbors", value: 1.5 },
    { text: "blurred", value: 2.5 },
  ];
  await openWhole({
    ...document,
    check: {
      ...{
        quantity: "logit difference",
        value: 3,
        left_out: patches.length - 5,
        irreplaceable: [first, first + 3, first + 4],
        maps: [],
      },
      tokens: [
        { token: first + 1, drop: 1, spread: 0.5, replacements: tried },
        { token: first + 2, drop: -0.25 },
      ],
    },
  });
  expect(all("#check-card .cell").length).toBe(patches.length);
  const nameOf = (place: number) => one(at(place)).getAttribute("aria-label");
  expect(nameOf(1)).toMatch(/^row \d+, column \d+: the logit difference falls by 1\.00 ± 0\.5$/u);
  expect(nameOf(0)).toMatch(/^row \d+, column \d+, not checked$/u);
  expect(text("#check-card .check-legend")).toContain(`Left out, to save time: ${patches.length - 5}.`);
  expect(text("#check-card .check-legend")).toContain("Not checked, as nothing fits in their place: 3.");
  await click(at(0));
  expect(has("#replaced")).toBe(false);
  await click(at(1));
  expect(text("#replaced caption")).toMatch(/^The patch in row \d+, column \d+ replaced: the logit difference falls/u);
  expect(all("#replaced tbody th, #replaced tbody td").map(({ textContent }) => textContent)).toEqual([
    ...["mean of its neighbors", "1.50", "blurred", "2.50"],
  ]);
  expect(tokens('#check-card [aria-expanded="true"]')).toEqual([first + 1]);
  // The keyboard walks over all patches.
  one<HTMLElement>(at(1)).focus();
  await press("ArrowRight");
  expect((window.document.activeElement as HTMLElement).dataset.token).toBe(String(first + 2));
  await click(at(1));
  expect(has("#replaced")).toBe(false);
  const lines = cells(await saved("check", "csv"));
  expect(lines.map(({ input_token, drop }) => [Number(input_token), Number(drop)])).toEqual([
    [first + 1, 1],
    [first + 2, -0.25],
  ]);
});

test("nothing of the texts becomes an element", async () => {
  await open(embeddedOf("image", "markup"));
  expect(all("#page img, #page script, #page iframe")).toEqual([]);
});
