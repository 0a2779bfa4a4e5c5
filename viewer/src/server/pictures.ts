// Pictures that were sent, and what the page keeps of them.
import type { Viewer } from "../context";

export interface AskedPicture {
  picture: File;
  /** one of the model's examples: a link can name it */
  example: boolean;
  options: Record<string, string>;
  /** the requested mixing, prediction and methods, as a link holds them */
  edges?: object;
}

/** A picture that a link refers to but cannot hold; examples and pictures that the tab kept are available. */
export interface WantedPicture {
  name: string;
  fragment: string;
  there: boolean;
}

/** A picture that was sent, and a URL from which the page can show it. */
export interface Sent {
  file: File;
  name: string;
  bytes: number;
  url: string;
}

const MOST_BYTES = 64 * 2 ** 20;
export const MOST_KEPT = 6;

/** Why a file cannot be sent; "" if it can. */
export function problemOf(file: File): string {
  if (file.size > MOST_BYTES) {
    return `expected a picture of at most ${MOST_BYTES / 2 ** 20} MB, found ${file.name}`;
  }
  if (!["image/png", "image/jpeg", "image/webp"].includes(file.type)) {
    const type = file.type && ` (${file.type})`;
    return `expected a PNG, JPEG or WebP picture, found ${file.name}${type}`;
  }
  return "";
}

/** The entry for a file that replaces `before`. */
export function sendingOf(file: File, before: Sent | null): Sent {
  if (before?.file === file) return before;
  if (before) URL.revokeObjectURL(before.url);
  return { file, name: file.name, bytes: file.size, url: URL.createObjectURL(file) };
}

/** The pictures shown last, by their part of the address. */
export class KeptPictures {
  private readonly kept = new Map<string, { viewer: Viewer; asked: AskedPicture }>();

  keep(viewer: Viewer, asked: AskedPicture) {
    const { ask } = viewer.state.address;
    if (!ask) return;
    this.kept.delete(ask);
    this.kept.set(ask, { viewer, asked });
    for (const oldest of [...this.kept.keys()].slice(0, -MOST_KEPT)) this.kept.delete(oldest);
  }

  get(ask: string) {
    return this.kept.get(ask);
  }
}
