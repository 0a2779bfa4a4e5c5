// The page's address, whose fragment holds the user's choices. link.ts defines the fragment's format.
import { effect } from "@preact/signals";

/** The most characters of a question that an address holds (server/ask.ts). */
export const LONGEST_ASK = 8000;
/** A fragment begins with the question, up to nine characters per character once escaped; the choices follow. */
const LONGEST_FRAGMENT = 9 * LONGEST_ASK + 20_000;

/** The parts of a fragment. It is untrusted input, so an overlong one is cut to LONGEST_FRAGMENT characters. */
export const fragmentParts = (fragment: string) =>
  new URLSearchParams(fragment.replace(/^#/, "").slice(0, LONGEST_FRAGMENT));

export interface Follower {
  fragment(): string;
  /** Whether the fragment may go into the address: false while it runs through many values by itself. */
  settled(): boolean;
  /** Called when the address has changed: back, forward, or edited by hand. */
  onMove(): void;
}

/** Puts another fragment (without "#") in the address, as a new history entry or in place of the current one. */
export function moveTo(fragment: string, how: "push" | "replace" = "push") {
  const address = fragment ? `#${fragment}` : location.pathname + location.search;
  try {
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A page in a frame that has no history; the link button still works.
  }
}

/** Syncs the address and the choices; back and forward step through settled choices. Returns a stop function. */
export function followAddress({ fragment, settled, onMove }: Follower): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Choices in quick succession share one history entry; `entered` says whether it has been made. */
  let moving = true;
  let entered = false;
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
    // Values that run by themselves are not recorded; the choices made before them stay an entry.
    if (!settled()) return rest();
    // The first change is written at once, so that a reload keeps it. A slider passes many values but makes one entry.
    if (!moving) write(next);
    moving = true;
    pending = next;
    timer = setTimeout(rest, 400);
  });
  // The new address must not be overwritten by choices made before it.
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
