// What a view hands to its card's export menu. Views supply functions, called when the reader asks for a file: nothing
// is drawn before. See viewer/README.md, "Export".

/** The numbers behind a view, as CSV and JSON hold them. */
export interface Table {
  /** snake_case names: output_token, input_token, layer, head, value ... */
  columns: readonly string[];
  rows: Iterable<readonly (string | number | boolean | null)[]>;
}

export interface Exporter {
  /**
   * The view as it is shown. A live element is copied with its computed styles and has a viewBox or a size; a string is a whole SVG
   * document. Marks that stand for a number carry it: `data-value="0.25"` or a <title>.
   */
  svg?(): SVGSVGElement | string;
  /** What the view shows, unrounded: for what is chosen, not for everything there is. */
  rows?(): Table;
}

export type ExportKind = "svg" | "png" | "csv" | "json";

/** The files that an exporter can make. */
export function kindsOf(exporter: Exporter): ExportKind[] {
  return [...(exporter.svg ? (["svg", "png"] as const) : []), ...(exporter.rows ? (["csv", "json"] as const) : [])];
}
