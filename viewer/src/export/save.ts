// Makes a file from a view and hands it to the browser.
import { copyText } from "../components/copy_text";
import type { Viewer } from "../context";
import type { Exporter, ExportKind } from "./exporter";
import { framed, FRAME, inInches } from "./frame";
import { aboutOf, captionOf, stemOf } from "./name";
import { laidOut, paper, widthFor } from "./paper";
import { rasterise, standalone } from "./picture";
import { toCsv, toJson, toLatex } from "./tables";

export interface View {
  card: string;
  title: string;
}

/** Output pixels per page pixel: 300 per inch on paper. */
const sharpness = () => (paper.inches.value === null ? 2 : 300 / 96);

async function svgOf({ card, title }: View, exporter: Exporter, viewer: Viewer): Promise<string> {
  const element = document.getElementById(`${card}-card`);
  const caption = paper.captions.value ? captionOf(viewer, title, exporter.shown?.() ?? {}) : null;
  const drawn = () => {
    const picture = exporter.svg?.();
    if (!picture) throw new Error("this view has no picture");
    return typeof picture === "string" ? picture : standalone(picture);
  };
  const whole = () => framed(drawn(), caption, element, title);
  const inches = paper.inches.value;
  if (inches === null) return whole();
  return inInches(await laidOut(element, widthFor(drawn(), inches) - FRAME, whole), inches);
}

async function makeFile(kind: ExportKind, view: View, exporter: Exporter, viewer: Viewer): Promise<Blob> {
  switch (kind) {
    case "svg":
      return new Blob([await svgOf(view, exporter, viewer)], { type: "image/svg+xml" });
    case "png":
      return rasterise(await svgOf(view, exporter, viewer), sharpness());
    default: {
      const table = exporter.rows?.();
      if (!table) throw new Error("this view has no numbers");
      return kind === "csv"
        ? new Blob([toCsv(table)], { type: "text/csv" })
        : new Blob([toJson(table, aboutOf(viewer, view.card))], { type: "application/json" });
    }
  }
}

function download(blob: Blob, name: string) {
  const link = document.createElement("a");
  const url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves a view and returns the file's name. */
export async function save(kind: ExportKind, view: View, exporter: Exporter, viewer: Viewer): Promise<string> {
  const name = `${stemOf(viewer, view.title, exporter.shown?.() ?? {})}.${kind}`;
  download(await makeFile(kind, view, exporter, viewer), name);
  return name;
}

/** Whether the browser can put pictures on the clipboard. */
export const copiesPictures = () => typeof ClipboardItem === "function" && "write" in (navigator.clipboard ?? {});

/** Copies the picture to the clipboard as a PNG; returns whether that worked. */
export async function copyPicture(view: View, exporter: Exporter, viewer: Viewer): Promise<boolean> {
  try {
    // The browser awaits it later: an await here would outlast the click that allowed this.
    const png = svgOf(view, exporter, viewer).then((svg) => rasterise(svg, sharpness()));
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    return true;
  } catch {
    return false;
  }
}

/** Copies the numbers to the clipboard as a LaTeX table; returns whether that worked. */
export async function copyLatex(exporter: Exporter): Promise<boolean> {
  const table = exporter.rows?.();
  return table ? copyText(toLatex(table, exporter.lines)) : false;
}
