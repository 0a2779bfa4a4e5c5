// A view with its heading and actions (export, help); every view is in one. Most are folded until their heading is
// pressed, so that a page begins with its answer; their contents are in the page all the same, where they are not laid out.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { inFrame } from "../embedding";
import type { Exporter } from "../export/exporter";
import { printing } from "../theme";
import { ExportMenu } from "./export_menu";

/** Pages with more tokens than this draw their cards only when they come into view (cards.css, .large). */
export const MOST_DRAWN = 600;

/** The folding cards that the reader has opened, by their ids: they stay open while the page shows other reports. */
export const opened = signal<ReadonlySet<string>>(new Set());

function toggle(id: string) {
  const now = new Set(opened.peek());
  if (!now.delete(id)) now.add(id);
  opened.value = now;
}

export interface CardProps {
  /** kebab-case; the section's id is `${id}-card`, tests and links use it */
  id: string;
  title: string;
  /** next to the title: what is shown, in a few words, and its legend */
  about?: ComponentChildren;
  children: ComponentChildren;
  /** it is never folded; no card is in a frame or on paper */
  open?: boolean;
  tools?: ComponentChildren;
  wide?: boolean;
  /** saves the card's contents as files from its menu; without one there is no menu */
  exporter?: Exporter;
}

export function Card({ id, title, about, children, open = false, tools, wide = false, exporter }: CardProps) {
  const body = useRef<HTMLDivElement>(null);
  const folds = !open && !inFrame();
  const folded = folds && !printing.value && !opened.value.has(id);
  useEffect(() => (body.current && !folded ? keepRoom(body.current) : undefined), [folded]);
  const classes = ["card", wide && "wide", folded && "folded"].filter(Boolean);
  return (
    <section class={classes.join(" ")} id={`${id}-card`} aria-labelledby={`${id}-heading`}>
      <div class="row card-head">
        <h2 id={`${id}-heading`}>
          {folds ? (
            <button
              type="button"
              class="fold"
              aria-expanded={!folded}
              aria-controls={`${id}-body`}
              onClick={() => toggle(id)}
            >
              {title}
            </button>
          ) : (
            title
          )}
        </h2>
        {about && <div class="row about">{about}</div>}
        <div class="row card-tools" hidden={folded}>
          {tools}
          {exporter && <ExportMenu card={id} title={title} exporter={exporter} />}
        </div>
      </div>
      <div class="card-body" id={`${id}-body`} ref={body} hidden={folded}>
        {children}
      </div>
    </section>
  );
}

/** Measures an off-screen card's drawn height when idle, so that the page's length is right. */
function keepRoom(body: HTMLElement): () => void {
  if (!body.closest(".large") || typeof requestIdleCallback !== "function") return () => undefined;
  let waiting = 0;
  let tries = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => requestIdleCallback(measure), 250);
  };
  const measure = () => {
    if (body.querySelector('[aria-busy="true"]') && ++tries < 40) {
      later();
      return;
    }
    if (!body.isConnected) return;
    if (body.firstElementChild?.checkVisibility({ contentVisibilityAuto: true }) !== false) {
      body.dataset.measured = ""; // already laid out
      return;
    }
    // Browsers remember a skipped element's last laid-out height, and use nothing else.
    body.style.contentVisibility = "visible";
    requestAnimationFrame(() => {
      requestAnimationFrame(() => {
        body.style.contentVisibility = "";
        body.dataset.measured = "";
      });
    });
  };
  const changes = new MutationObserver(later);
  changes.observe(body, { childList: true, subtree: true, characterData: true });
  let width = -1;
  const widths = new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) later();
    width = contentRect.width;
  });
  widths.observe(body);
  later();
  return () => {
    clearTimeout(waiting);
    changes.disconnect();
    widths.disconnect();
  };
}
