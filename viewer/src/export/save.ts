// Makes a file of a view and hands it to the browser.
import type { Exporter, ExportKind } from "./exporter";
import { framed } from "./frame";
import type { Saving } from "./name";
import { rasterise, standalone } from "./picture";
import { toCsv, toJson } from "./tables";

/** A view: its card's id and title. */
export interface View {
  card: string;
  title: string;
}

function svgOf({ card, title }: View, exporter: Exporter, saving: Saving): string {
  const picture = exporter.svg?.();
  if (!picture) throw new Error("this view has no picture");
  const svg = typeof picture === "string" ? picture : standalone(picture);
  const caption = saving.caption(title, exporter.shown?.() ?? {});
  return framed(svg, caption, document.getElementById(`${card}-card`));
}

async function makeFile(kind: ExportKind, view: View, exporter: Exporter, saving: Saving): Promise<Blob> {
  switch (kind) {
    case "svg":
      return new Blob([svgOf(view, exporter, saving)], { type: "image/svg+xml" });
    case "png":
      return rasterise(svgOf(view, exporter, saving));
    default: {
      const table = exporter.rows?.();
      if (!table) throw new Error("this view has no numbers");
      return kind === "csv"
        ? new Blob([toCsv(table)], { type: "text/csv" })
        : new Blob([toJson(table, saving.about(view.card))], { type: "application/json" });
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

/** The name of the file. */
export async function save(kind: ExportKind, view: View, exporter: Exporter, saving: Saving): Promise<string> {
  const name = `${saving.stem(view.title, exporter.shown?.() ?? {})}.${kind}`;
  download(await makeFile(kind, view, exporter, saving), name);
  return name;
}
