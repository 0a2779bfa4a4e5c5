// Running text whose tokens are painted in place: choices change only colors and labels of elements created once, so
// that thousands of tokens can follow a player or a pointer.
import { effect } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, type MutableRef } from "preact/hooks";
import type { Report } from "../report/report";
import { graphemes } from "../report/text";
import { movesAlong } from "./arrow_keys";
import { TextLines, tokenLines } from "./half_text";

export interface Look {
  /** for tests and readers of the page source; undefined: none */
  value?: number;
  background?: string;
  ink?: string;
  classes: readonly string[];
  /** it is the explained token */
  selected: boolean;
  /** for screen readers */
  name: () => string;
}

export interface PaintedTextProps {
  id: string;
  report: Report;
  /** only this text; its elements count from 0, everything else from the report's first token */
  segment?: number;
  labelledby: string;
  describedby: string;
  /** Runs in an effect: reads signals, then returns each token's look. */
  look: () => (token: number) => Look;
  /** the token with the keyboard position; read in the same effect */
  current: () => number;
  /** the token pointed at, here or elsewhere; read in a separate effect because it changes often */
  pointed: () => number | null;
  onMove: (token: number) => void;
  /** a click, or Enter */
  onChoose: (token: number, click: MouseEvent | KeyboardEvent) => void;
  onPoint: (token: number | null) => void;
  /** the key x */
  onToggle?: (token: number) => void;
  /** keeps the current token in view */
  follow?: boolean;
  /** a long text opens at its end */
  fromEnd?: boolean;
}

/** Above this many tokens, names are set a moment after painting. */
const MANY = 200;
const LOOKS = ["excluded", "above", "degenerate", "later"];

function tokensIn(root: HTMLElement | null): HTMLElement[] {
  const elements: HTMLElement[] = [];
  for (const element of root?.querySelectorAll<HTMLElement>(".token") ?? []) {
    elements[Number(element.dataset.token)] = element;
  }
  return elements;
}

function paint(element: HTMLElement, next: Look, before: Look | undefined) {
  const { background = "", ink = "", value } = next;
  if (background !== (before?.background ?? "")) element.style.backgroundColor = background;
  if (ink !== (before?.ink ?? "")) element.style.color = ink;
  if (value !== before?.value || !before) element.dataset.value = value === undefined ? "" : String(value);
  for (const name of LOOKS) {
    const on = next.classes.includes(name);
    if (on !== Boolean(before?.classes.includes(name))) element.classList.toggle(name, on);
  }
  if (next.selected !== before?.selected) element.setAttribute("aria-selected", String(next.selected));
}

function usePainting(root: RefObject<HTMLElement>, latest: MutableRef<PaintedTextProps>, first: number, text: unknown) {
  // Elements outlive a growing report, so their looks are stored per element.
  const painted = useRef(new WeakMap<HTMLElement, Look>());
  useLayoutEffect(() => {
    const elements = tokensIn(root.current);
    const looks: Look[] = [];
    // Screen reader names are updated once tokens stop playing.
    const names: string[] = [];
    let naming: ReturnType<typeof setTimeout> | undefined;
    const nameAll = () => {
      for (const [token, element] of elements.entries()) {
        const name = looks[token].name();
        if (name !== names[token]) element.setAttribute("aria-label", (names[token] = name));
      }
    };
    let marked: HTMLElement | undefined;
    const stopPointing = effect(() => {
      const token = latest.current.pointed();
      marked?.classList.remove("pointed");
      marked = token === null ? undefined : elements[token - first];
      marked?.classList.add("pointed");
    });
    const stopPainting = effect(() => {
      const { look, current, follow } = latest.current;
      const lookOf = look();
      const at = current() - first;
      for (const [token, element] of elements.entries()) {
        const next = lookOf(first + token);
        const before = painted.current.get(element);
        painted.current.set(element, next);
        looks[token] = next;
        paint(element, next, before);
        const tab = token === at ? 0 : -1;
        if (element.tabIndex !== tab || !before) element.tabIndex = tab;
      }
      clearTimeout(naming);
      naming = setTimeout(nameAll, looks.length > MANY ? 120 : 0);
      if (follow && root.current && elements[at]) keepInView(root.current, elements[at]);
    });
    return () => {
      stopPointing();
      marked?.classList.remove("pointed");
      stopPainting();
      clearTimeout(naming);
    };
  }, [text]);
}

/**
 * Focus moves at the next frame: focusing now would force a layout. Until then keys refer to the token about to get the
 * focus; nothing happens if the focus has left the text meanwhile.
 */
function useFocus(root: RefObject<HTMLElement>, first: number) {
  const focusing = useRef<number | null>(null);
  const focus = (token: number) => {
    if (focusing.current === null) {
      const from = document.activeElement;
      requestAnimationFrame(() => {
        const next = focusing.current;
        focusing.current = null;
        const at = document.activeElement;
        if (next !== null && (at === from || root.current?.contains(at))) tokensIn(root.current)[next - first]?.focus();
      });
    }
    focusing.current = token;
  };
  return { focus, focusing };
}

export function PaintedText(props: PaintedTextProps) {
  const root = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const { report, segment } = props;
  const first = segment ? report.beginOfSecond : 0;
  const n = segment === 0 ? report.beginOfSecond : report.n - first;
  // A generation's prompt outlives each report that adds a token: it is neither rebuilt nor renamed.
  const text = report.textOf(segment);
  usePainting(root, latest, first, text);
  useLayoutEffect(() => {
    if (props.fromEnd && root.current) root.current.scrollTop = root.current.scrollHeight;
  }, [text]);
  // The elements stay the same as long as the text does.
  const tokens = useMemo(() => <Tokens report={report} segment={segment} first={first} />, [text]);
  const tokenOf = (event: Event) => {
    const element = (event.target as Element).closest<HTMLElement>(".token");
    return element ? first + Number(element.dataset.token) : null;
  };
  const { focus, focusing } = useFocus(root, first);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { onMove, onChoose, onToggle, current } = latest.current;
    const token = focusing.current ?? tokenOf(event);
    const line = (event.target as Element).closest(".line");
    const forward = line && getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const moves = movesAlong(n, forward);
    if (event.key in moves) {
      const next = first + Math.max(0, Math.min(n - 1, current() - first + moves[event.key]));
      onMove(next);
      focus(next);
    } else if (event.key === "x" && onToggle) {
      if (token !== null) onToggle(token);
    } else if ((event.key === "Enter" || event.key === " ") && token !== null) {
      onChoose(token, event);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="strip"
      id={props.id}
      ref={root}
      role="listbox"
      aria-labelledby={props.labelledby}
      aria-describedby={props.describedby}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const token = tokenOf(event);
        if (token === null) return;
        latest.current.onChoose(token, event);
        if (!event.ctrlKey && !event.metaKey) focus(token);
      }}
      // Shift-click would select text.
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      onPointerOver={(event) => latest.current.onPoint(tokenOf(event))}
      onPointerLeave={() => latest.current.onPoint(null)}
      onFocusIn={(event) => {
        if ((event.target as Element).matches(":focus-visible")) latest.current.onPoint(tokenOf(event));
      }}
      onFocusOut={() => latest.current.onPoint(null)}
    >
      {tokens}
    </div>
  );
}

interface TokensProps extends Pick<PaintedTextProps, "report" | "segment"> {
  first: number;
}

function Tokens({ report, segment, first }: TokensProps) {
  const lines = tokenLines(report, segment, (token, chip, text) => {
    const { special, unknown, begin, end } = report.tokens[token];
    const kinds = { chip, special, unknown, "line-break": !chip && text.includes("\n") };
    const [continues, narrow] = [!chip && report.continues(token), graphemes(text.trim()).length <= 1];
    const classes = Object.entries({ ...kinds, continues, narrow });
    const names = ["token", ...classes.filter(([, is]) => is).map(([name]) => name)];
    return (
      // A chip is not part of the text: it must not affect the direction of the line.
      <span
        key={token}
        role="option"
        data-token={token - first}
        class={names.join(" ")}
        dir={chip ? "auto" : undefined}
      >
        {/* A token whose characters an earlier one already shows (part of an emoji) continues it. */}
        {chip && begin !== end ? `…${text}` : text}
      </span>
    );
  });
  return <TextLines lines={lines} role="group" aria-label="text" />;
}

/** Scrolls a strip, not the page. */
function keepInView(strip: HTMLElement, element: HTMLElement) {
  const box = strip.getBoundingClientRect();
  const own = element.getBoundingClientRect();
  if (own.top < box.top || own.bottom > box.bottom) strip.scrollTop += own.top - box.top - box.height / 3;
}
