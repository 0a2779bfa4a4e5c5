// Pictures that were sent, and what of them the page keeps.
import type { Viewer } from "../context";

export interface AskedPicture {
  picture: File;
  /** one of the model's own: a link can name it */
  example: boolean;
  options: Record<string, string>;
  /** which mixing, prediction and methods were asked, as a link holds them */
  edges?: object;
}

/** A picture that a link shows and cannot hold, but for an example and one that the tab kept, which are there. */
export interface WantedPicture {
  name: string;
  fragment: string;
  there: boolean;
}

/** A picture that was sent, and where the page can show it from. */
export interface Sent {
  file: File;
  name: string;
  bytes: number;
  url: string;
}

const MOST_BYTES = 64 * 2 ** 20;
/** Pictures that the way back and forward shows again. */
export const MOST_KEPT = 6;

/** Why a file cannot be sent; "" when it can. */
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

/** What takes the place of `before` beside the button. */
export function sendingOf(file: File, before: Sent | null): Sent {
  if (before?.file === file) return before;
  if (before) URL.revokeObjectURL(before.url);
  return { file, name: file.name, bytes: file.size, url: URL.createObjectURL(file) };
}

/** The pictures that were shown last, by their part of the address. */
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
