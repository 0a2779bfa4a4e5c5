// Makes a file of a view and hands it to the browser.
import type { Viewer } from "../context";
import type { Exporter, ExportKind } from "./exporter";
import { rasterise, standalone } from "./picture";
import { toCsv, toJson } from "./tables";

export interface Source {
  card: string;
  title: string;
  viewer: Viewer;
}

function svgOf(exporter: Exporter): string {
  const picture = exporter.svg?.();
  if (!picture) throw new Error("this view has no picture");
  return typeof picture === "string" ? picture : standalone(picture);
}

/** What the numbers are numbers of. */
function about({ card, viewer }: Source) {
  const { report, state } = viewer;
  const { leftOut, ...choices } = state.snapshot();
  return { view: card, model: report.model.name, text: report.document.input.text, choices: { ...choices, leftOut } };
}

export async function makeFile(kind: ExportKind, exporter: Exporter, source: Source): Promise<Blob> {
  switch (kind) {
    case "svg":
      return new Blob([svgOf(exporter)], { type: "image/svg+xml" });
    case "png":
      return rasterise(svgOf(exporter));
    default: {
      const table = exporter.rows?.();
      if (!table) throw new Error("this view has no numbers");
      return kind === "csv"
        ? new Blob([toCsv(table)], { type: "text/csv" })
        : new Blob([toJson(table, about(source))], { type: "application/json" });
    }
  }
}

export function download(blob: Blob, name: string) {
  const link = document.createElement("a");
  const url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export async function save(kind: ExportKind, name: string, exporter: Exporter, source: Source) {
  download(await makeFile(kind, exporter, source), name);
}
