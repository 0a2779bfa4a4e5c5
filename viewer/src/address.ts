// The page's address, whose fragment holds what is chosen. What a fragment says stands in link.ts.
import { effect } from "@preact/signals";

/** Characters of what was asked that an address holds at most (server/ask.ts). */
export const LONGEST_ASK = 8000;
/** What was asked comes first in a fragment; escaped, a character of it takes up to nine. The choices come behind. */
const LONGEST_FRAGMENT = 9 * LONGEST_ASK + 20_000;

/** The parts of a fragment, which may come from anyone: of one that is too long, the first of them. */
export const fragmentParts = (fragment: string) =>
  new URLSearchParams(fragment.replace(/^#/, "").slice(0, LONGEST_FRAGMENT));

export interface Follower {
  /** What is chosen now. Signals that are read here are followed. */
  fragment(): string;
  /** Whether it may stand in the address: not while it passes through many values by itself. */
  settled(): boolean;
  /** The address has moved: back, forward, or by hand. */
  onMove(): void;
}

/** Another fragment, without "#", in the address: a new entry of the history, or in place of the one that is there. */
export function moveTo(fragment: string, how: "push" | "replace" = "push") {
  const address = fragment ? `#${fragment}` : location.pathname + location.search;
  try {
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A page in a frame without a history of its own; the link button still works.
  }
}

/** Keeps the address and what is chosen alike; back and forward step through settled choices. Returns how to stop. */
export function followAddress({ fragment, settled, onMove }: Follower): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Choices follow each other: they share an entry of the history, which `entered` says is there. */
  let moving = true;
  let entered = false;
  /** What is chosen and may still change; null: nothing is under way. */
  let pending: string | null = null;
  const write = (next: string) => {
    const here = location.hash.replace(/^#/, "");
    if (next === here || (next === "" && !here.startsWith("v="))) return;
    moveTo(next, entered ? "replace" : "push");
    entered = true;
  };
  const rest = () => {
    if (pending === null) return;
    write(pending);
    pending = null;
    moving = entered = false;
  };
  const stop = effect(() => {
    const next = fragment();
    clearTimeout(timer);
    // What passes by itself ends elsewhere: what was chosen before stays an entry.
    if (!settled()) return rest();
    // The first of them stands there at once, for who reloads. A slider passes many values; one entry where it rests.
    if (!moving) write(next);
    moving = true;
    pending = next;
    timer = setTimeout(rest, 400);
  });
  // Where the address has moved to is not written over by what was chosen before.
  const moved = () => {
    clearTimeout(timer);
    pending = null;
    moving = entered = false;
    onMove();
  };
  addEventListener("popstate", moved);
  addEventListener("hashchange", moved);
  return () => {
    stop();
    clearTimeout(timer);
    removeEventListener("popstate", moved);
    removeEventListener("hashchange", moved);
  };
}

/** The page's address with another fragment. */
export function addressWith(fragment: string): string {
  return location.href.replace(/#.*$/s, "") + (fragment ? `#${fragment}` : "");
}
