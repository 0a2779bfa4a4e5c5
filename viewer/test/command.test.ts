// The command that the page offers for what it cannot compute must be one that can be given.
import { describe, expect, test } from "vitest";
import { commandFor } from "../src/components/ask_for";
import type { MixingName } from "../src/report/mixings";
import { Report } from "../src/report/report";
import { WordReport } from "../src/report/words";
import text from "./fixtures/text.json?raw";

const fixture = JSON.parse(text);

describe("the command that computes what the page does not", async () => {
  const report = await Report.read(fixture.report);
  const recipe = {
    start_layer: report.settings.start_layer,
    heads: "max",
    residual: 0.2,
    normalize: "none" as const,
    mask_columns: "none",
    discard: 0,
  };

  test("names all methods, the output token and the settings", () => {
    const other = report.document.output_token === 1 ? 2 : 1;
    const command = commandFor(report, recipe, "flow", other);
    expect(command).toMatch(/^attnflow explain '/);
    expect(command).toContain("--method raw,rollout,flow");
    expect(command).toContain(`--output-token ${other}`);
    expect(command).toContain("--residual 0.2");
    expect(command).toContain("--heads max");
    expect(command).toMatch(/-o report\.html$/);
  });

  test("leaves out what is the default, and does not take a name for a path", () => {
    const command = commandFor(
      report,
      { ...recipe, heads: "mean", residual: 0.5 },
      "flow",
      report.document.output_token ?? 0,
    );
    expect(command).not.toContain("--output-token");
    expect(command).not.toContain("--residual");
    const { name } = report.model;
    const builtin = name === "agreement" || name === "fashion";
    expect(command).toContain(builtin ? `--model ${name}` : `--model 'path/to/${name}'`);
  });

  test("names the mixing where that is not the default, and what it explains", () => {
    const of = (mixing: MixingName) => commandFor(report, recipe, "flow", "all", mixing);
    expect(of("attention")).not.toContain("--mixing");
    expect(of("alti")).toMatch(/--mixing alti /);
    // Contributions have no heads, and hold what stays in place.
    expect(of("alti")).not.toMatch(/--heads|--residual|--target/);
    expect(of("value-zeroing")).toContain("--residual 0.2");
    expect(of("relevance")).toMatch(/--mixing relevance --target 'auto'/);
  });

  test("gives an encoder-decoder its target, even an empty one", async () => {
    const values = { source_tokens: 3, encoder_layers: 2, decoder_layers: 2 };
    const notes = [{ code: "joint-layers", values, text: "" }];
    const of = async (target: string) => {
      const { report: document } = fixture;
      const input = { ...document.input, text_pair: target };
      return commandFor(await Report.read({ ...document, input, notes }), recipe, "flow", "all", "attention");
    };
    expect(await of("la clé")).toContain("--target-text 'la clé'");
    const command = await of("");
    expect(command).toContain("--target-text ''");
    expect(command).not.toContain("--pair");
    // Its default mixing is relevance.
    expect(command).toContain("--mixing attention");
  });

  test("counts pieces where it merges them, and asks for no heads of words", () => {
    const words = WordReport.of(report);
    if (!words) throw new Error("no word has several pieces");
    expect(commandFor(report, recipe, "flow", 3)).toContain("--keep-attention");
    // The third word is "are", which is piece 5.
    const command = commandFor(words, recipe, "flow", 3);
    expect(command).toContain("--output-token 5");
    expect(command).toContain("--words");
    expect(command).not.toContain("--keep-attention");
    expect(commandFor(words, recipe, "flow", "all")).toContain("--output-token all");
  });
});
