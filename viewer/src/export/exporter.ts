// A view gives its card's export menu functions, so that nothing is drawn before the user asks for a file.
// See viewer/README.md, "Export".

/** A view's numbers, as saved in CSV and JSON. */
export interface Table {
  /** snake_case names: output_token, input_token, layer, head, value ... */
  columns: readonly string[];
  rows: Iterable<readonly (string | number | boolean | null)[]>;
}

/** What a view shows, for its file name and its picture's caption, if it differs from what the whole page shows. */
export interface Shown {
  /** in place of the card's title */
  title?: string;
  /** which of the view's pictures: "layer 3, head 5" */
  panel?: string;
  /** null: not relevant */
  method?: string | null;
  layers?: string | null;
  output?: string | null;
  /** false: residual, heads and the like are not relevant */
  recipe?: boolean;
  /** false: exclusions are not relevant */
  filters?: boolean;
  /** sentences that a reader of the picture needs */
  notes?: readonly string[];
  /** suffixes for the file's name: "layer3-head5" */
  file?: readonly string[];
}

/** A saved picture's description of itself. */
export interface Caption {
  title: string;
  /** what was explained: the input, the model */
  subject: readonly string[];
  facts: readonly (readonly [string, string])[];
  notes: readonly string[];
}

export interface Exporter {
  /**
   * The view as shown. A live element is copied with its computed styles and needs a viewBox or a size; a string is a
   * complete SVG document. Marks that represent a number carry it: `data-value="0.25"` or a <title>. frame.ts adds
   * title, caption and the card's legends.
   */
  svg?(): SVGSVGElement | string;
  /** What the view shows, unrounded: only the current choices, not everything there is. */
  rows?(): Table;
  shown?(): Shown;
  /** how many of the rows the view shows; a LaTeX table has only these */
  lines?: number;
}

export type ExportKind = "svg" | "png" | "csv" | "json";

export function kindsOf(exporter: Exporter): ExportKind[] {
  return [...(exporter.svg ? (["svg", "png"] as const) : []), ...(exporter.rows ? (["csv", "json"] as const) : [])];
}
