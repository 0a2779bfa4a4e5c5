// What a view hands to its card's export menu. Views supply functions, called when the reader asks for a file: nothing
// is drawn before. See viewer/README.md, "Export".

/** The numbers behind a view, as CSV and JSON hold them. */
export interface Table {
  /** snake_case names: output_token, input_token, layer, head, value ... */
  columns: readonly string[];
  rows: Iterable<readonly (string | number | boolean | null)[]>;
}

/** What a view shows, for its file's name and its picture's caption, where it is not what the whole page shows. */
export interface Shown {
  /** in place of the card's */
  title?: string;
  /** which of the view's pictures: "layer 3, head 5" */
  panel?: string;
  /** null: it does not matter here */
  method?: string | null;
  layers?: string | null;
  output?: string | null;
  /** false: residual, heads and the like do not matter here */
  recipe?: boolean;
  /** false: what is excluded does not matter here */
  filters?: boolean;
  /** sentences that a reader of the picture needs */
  notes?: readonly string[];
  /** of the file's name, after the view's: "layer3-head5" */
  file?: readonly string[];
}

/** What a picture says of itself when it leaves the page. */
export interface Caption {
  title: string;
  /** what was explained: the input, the model */
  subject: readonly string[];
  /** term and description, in the words of the settings card */
  facts: readonly (readonly [string, string])[];
  notes: readonly string[];
}

export interface Exporter {
  /**
   * The view as it is shown. A live element is copied with its computed styles and has a viewBox or a size; a string is a whole SVG
   * document. Marks that stand for a number carry it: `data-value="0.25"` or a <title>. Title, caption and the card's
   * legends are written around it (frame.ts).
   */
  svg?(): SVGSVGElement | string;
  /** What the view shows, unrounded: for what is chosen, not for everything there is. */
  rows?(): Table;
  shown?(): Shown;
  /** of the rows, how many the view shows: a table for a paper has no others */
  lines?: number;
}

export type ExportKind = "svg" | "png" | "csv" | "json";

/** The files that an exporter can make. */
export function kindsOf(exporter: Exporter): ExportKind[] {
  return [...(exporter.svg ? (["svg", "png"] as const) : []), ...(exporter.rows ? (["csv", "json"] as const) : [])];
}
