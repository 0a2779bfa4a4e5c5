// The page shows the arcs and colors of attnflow's figures of the same report: fixtures/make.py reads those off the
// figures, and attnflow/draw/page_figures_test.cc holds the figures to the same file.
import { rgb } from "d3-color";
import { quantize } from "d3-interpolate";
import { interpolateCividis } from "d3-scale-chromatic";
import { describe, expect, test } from "vitest";
import { EndsOf, isSink } from "../src/color/ends";
import { CIVIDIS, Scale } from "../src/color/scale";
import { Shades } from "../src/color/shades";
import { graphArcs } from "../src/compute/graph_arcs";
import { mixingOf, type Mixing } from "../src/compute/mixing";
import { residualRule } from "../src/compute/recompute";
import { finish } from "../src/compute/slices";
import { arcOpacity, arcStrength } from "../src/figures";
import type { ReportDocument } from "../src/report/document";
import { recipeOf } from "../src/report/recipe";
import { Report } from "../src/report/report";
import figures from "./fixtures/figures.json?raw";

interface Panel {
  /** layer, counted from the one where the explanation ends, from, to, opacity */
  arcs: [number, number, number, number][];
  colour: string;
  /** of the input tokens' squares */
  squares: string[];
}

interface Case {
  name: string;
  report: ReportDocument;
  panels: Record<"raw" | "rollout", Panel>;
}

const cases = JSON.parse(figures) as Case[];
const scale = new Scale(false);
const hex = (css: string) => rgb(css.replaceAll(" ", ",")).formatHex();

describe.each(cases)("$name", ({ report: document, panels }) => {
  const shape = async () => {
    const report = await Report.read(document);
    const recipe = recipeOf(report);
    const layer = report.layers.at(-1) as number;
    const outputToken = document.all_output_tokens ? null : (document.output_token as number);
    return { report, recipe, layer, outputToken };
  };

  test.each(["raw", "rollout"] as const)("arcs of %s", async (method) => {
    const { report, recipe, layer, outputToken } = await shape();
    const kind = method === "rollout" ? "share" : "weight";
    const mixing = mixingOf(report, recipe) as Mixing;
    const rule = residualRule(report, "flow");
    const { arcs, strongest } = finish(
      graphArcs({ ...recipe, toLayer: recipe.start_layer, mixing, rule, layer, outputToken, kind }),
    );
    const key = (...numbers: number[]) => numbers.join(" ");
    const found = new Map(
      arcs.map(({ layer: k, from, to, weight }) => [
        key(k - recipe.start_layer, from, to),
        arcOpacity(arcStrength(weight / strongest, kind)),
      ]),
    );
    const drawn = new Map(panels[method].arcs.map(([k, from, to, opacity]) => [key(k, from, to), opacity]));
    expect([...found.keys()].sort()).toEqual([...drawn.keys()].sort());
    // Figures round to two digits.
    for (const [arc, opacity] of drawn)
      expect(Math.abs((found.get(arc) ?? NaN) - opacity), arc).toBeLessThan(0.005 + 1e-9);
    expect(hex(scale.css(1, 1))).toBe(panels[method].colour);
  });

  test.each(["raw", "rollout"] as const)("colours of %s", async (method) => {
    const { report, layer, outputToken } = await shape();
    const rows = outputToken === null ? report.tokens.map((token) => token.index) : [outputToken];
    const values = report.tokens.map(({ index }) =>
      rows.reduce((sum, row) => sum + (report.row(method, layer, row)?.[index] ?? NaN) / rows.length, 0),
    );
    const ends = new EndsOf();
    values.forEach((value, j) => ends.add(value, isSink(report, j)));
    const shades = new Shades({ scale, low: 0, top: ends.ends.top, threshold: 0 });
    expect(values.map((value) => hex(shades.css(value)))).toEqual(panels[method].squares);
  });
});

test("cividis is d3's", () => {
  expect(CIVIDIS).toEqual(quantize(interpolateCividis, CIVIDIS.length).map((colour) => rgb(colour).formatHex()));
});
