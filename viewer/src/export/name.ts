// Names of saved files.
import type { Viewer } from "../context";

const slug = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();

/** What the report is called: its page's file, else the model and the beginning of the text. */
export function reportName(viewer: Viewer): string {
  const file = location.protocol === "file:" ? decodeURIComponent(location.pathname.split("/").at(-1) ?? "") : "";
  const own = slug(file.replace(/\.html?$/i, ""));
  if (own) return own.slice(0, 60);
  const { model, document } = viewer.report;
  return slug(`${model.name} ${document.input.text.slice(0, 24)}`).slice(0, 60) || "attnflow";
}

/** NAME-CARD-METHOD-layerL, without an ending. */
export function fileStem(viewer: Viewer, card: string): string {
  const { method, layer } = viewer.state.choices;
  return `${reportName(viewer)}-${card}-${method.value}-layer${layer.value}`;
}
