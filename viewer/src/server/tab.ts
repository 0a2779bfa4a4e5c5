// What a tab keeps until it is closed, so that reloading it loses nothing that was typed.
import { effect, type Signal } from "@preact/signals";

const DRAFT = "attnflow-draft";
/** Characters that a browser surely has room for. */
const MOST = 4_500_000;

/** Browsers may have no storage for a page, or none left. */
function quietly<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}

function read(key: string): Record<string, unknown> {
  const value: unknown = quietly(() => JSON.parse(sessionStorage.getItem(key) ?? "{}") as unknown);
  return value && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

function write(key: string, value: object) {
  const text = JSON.stringify(value);
  quietly(() => {
    if (text.length <= MOST) sessionStorage.setItem(key, text);
    else sessionStorage.removeItem(key);
  });
}

/** Takes up what was typed before, and keeps what is typed. Returns how to stop. */
export function keepDrafts(fields: Readonly<Record<string, Signal<string>>>): () => void {
  const before = read(DRAFT);
  for (const [name, field] of Object.entries(fields)) {
    const text = before[name];
    if (typeof text === "string" && text !== "") field.value = text;
  }
  return effect(() => {
    write(DRAFT, Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value])));
  });
}
