// Tables as CSV (RFC 4180), JSON and LaTeX.
import type { Table } from "./exporter";

type Cell = string | number | boolean | null;

function csvCell(cell: Cell): string {
  if (cell === null || (typeof cell === "number" && Number.isNaN(cell))) return "";
  const text = String(cell);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv({ columns, rows }: Table): string {
  const lines = [columns.map(csvCell).join(",")];
  for (const row of rows) lines.push(row.map(csvCell).join(","));
  return lines.join("\r\n") + "\r\n";
}

/** Rows as arrays under their columns, with a description of the choices. NaN and infinity become null. */
export function toJson({ columns, rows }: Table, about: Record<string, unknown>): string {
  const lines = Array.from(rows, (row) => JSON.stringify(row));
  const head = JSON.stringify({ ...about, columns }, null, 1).replace(/\n\}$/, "");
  return `${head},\n "rows": [\n  ${lines.join(",\n  ")}\n ]\n}\n`;
}

const LATEX: Readonly<Record<string, string>> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
};
const latexText = (text: string) => text.replace(/[\\~^<>|]|[&%$#_{}]/g, (sign) => LATEX[sign] ?? `\\${sign}`);

function latexCell(cell: Cell): string {
  if (cell === null || (typeof cell === "number" && Number.isNaN(cell))) return "";
  if (typeof cell !== "number") return latexText(String(cell));
  return Number.isInteger(cell)
    ? String(cell)
    : `$${String(Number(cell.toPrecision(4))).replace(/e(.+)$/, " \\cdot 10^{$1}")}$`;
}

/** For a paper: four-digit numbers, right-aligned number columns; the first `most` rows. */
export function toLatex({ columns, rows }: Table, most = Infinity): string {
  const all = [...rows].slice(0, most);
  const sides = columns.map((_, k) => (all.every((row) => row[k] === null || typeof row[k] === "number") ? "r" : "l"));
  const line = (cells: readonly string[]) => `  ${cells.join(" & ")} \\\\`;
  return [
    "% \\usepackage{booktabs}",
    `\\begin{tabular}{${sides.join("")}}`,
    "  \\toprule",
    line(columns.map(latexText)),
    "  \\midrule",
    ...all.map((row) => line(row.map(latexCell))),
    "  \\bottomrule",
    "\\end{tabular}\n",
  ].join("\n");
}
