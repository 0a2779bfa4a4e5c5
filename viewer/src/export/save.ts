// Makes a file of a view and hands it to the browser.
import type { Exporter, ExportKind } from "./exporter";
import { rasterise, standalone } from "./picture";
import { toCsv, toJson } from "./tables";

function svgOf(exporter: Exporter): string {
  const picture = exporter.svg?.();
  if (!picture) throw new Error("this view has no picture");
  return typeof picture === "string" ? picture : standalone(picture);
}

/** @param about what the numbers are numbers of: what was chosen, and of which model and text */
export async function makeFile(kind: ExportKind, exporter: Exporter, about: Record<string, unknown>): Promise<Blob> {
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
        : new Blob([toJson(table, about)], { type: "application/json" });
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

export async function save(kind: ExportKind, name: string, exporter: Exporter, about: Record<string, unknown>) {
  download(await makeFile(kind, exporter, about), name);
}
