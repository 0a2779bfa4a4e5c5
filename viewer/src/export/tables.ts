// Tables as CSV (RFC 4180) and JSON.
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

/** Rows as arrays under their columns; what was chosen stands beside them. NaN and infinity become null. */
export function toJson({ columns, rows }: Table, about: Record<string, unknown>): string {
  const lines = Array.from(rows, (row) => JSON.stringify(row));
  const head = JSON.stringify({ ...about, columns }, null, 1).replace(/\n\}$/, "");
  return `${head},\n "rows": [\n  ${lines.join(",\n  ")}\n ]\n}\n`;
}
