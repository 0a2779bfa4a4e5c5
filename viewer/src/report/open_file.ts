// Opens a report from a user's file: FILE.json, or a page that attnflow wrote.
import { Report } from "./report";

const MOST_BYTES = 256 * 2 ** 20;

/** The report document in the text of a .json or .html file. */
function documentIn(text: string): unknown {
  const start = text.trimStart();
  if (!start.startsWith("<")) return JSON.parse(text);
  const page = new DOMParser().parseFromString(text, "text/html");
  const source = page.getElementById("report")?.textContent;
  if (!source) throw new Error("expected a report of attnflow in the page, found none");
  return JSON.parse(source);
}

export async function openReport(file: File): Promise<Report> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than ${MOST_BYTES / 2 ** 20} MB`);
  let document: unknown;
  try {
    document = documentIn(await file.text());
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`${file.name} is not a report: ${error.message}`);
    throw error;
  }
  return Report.read(document);
}
