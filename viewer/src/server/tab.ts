// What a tab keeps until it is closed, so that a reload loses nothing typed or chosen.
import { effect, type Signal } from "@preact/signals";

const DRAFT = "attnflow-draft";
const PICTURE = "attnflow-picture";
/** A number of characters that fits in any browser's storage. */
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

export interface Drafts {
  /** Replaces a link's text with the typed text, if it was typed over the same link. */
  prevail(): void;
  stop(): void;
}

/** Restores previously typed text, and keeps what is typed. @param asked the address's request */
export function keepDrafts(fields: Readonly<Record<string, Signal<string>>>, asked: () => string): Drafts {
  const before = read(DRAFT);
  const take = () => {
    for (const [name, field] of Object.entries(fields)) {
      const text = before[name];
      if (typeof text === "string" && text !== "") field.value = text;
    }
  };
  take();
  const same = before.asked === asked();
  const stop = effect(() => {
    const typed = Object.entries(fields).map(([name, { value }]) => [name, value]);
    write(DRAFT, { ...Object.fromEntries(typed), asked: asked() });
  });
  return {
    stop,
    prevail() {
      if (same) take();
    },
  };
}

/** Keeps a picture across reloads unless it is too large. @param asked its address's request */
export async function keepPicture(asked: string, file: File) {
  const reader = new FileReader();
  const url = await new Promise<string>((done) => {
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => done("");
    reader.readAsDataURL(file);
  });
  write(PICTURE, { asked, name: file.name, type: file.type, data: url.slice(url.indexOf(",") + 1) });
}

/** The picture previously shown at this address. */
export function keptPicture(asked: string): File | undefined {
  const { asked: of, name, type, data } = read(PICTURE);
  if (of !== asked || typeof name !== "string" || typeof type !== "string" || typeof data !== "string")
    return undefined;
  return quietly(() => new File([Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0))], name, { type }));
}
