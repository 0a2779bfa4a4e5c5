// A view with its heading and actions (export, help); every view is in one.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Exporter } from "../export/exporter";
import { ExportMenu } from "./export_menu";

/** Pages with more tokens than this draw their cards only when they come into view (cards.css, .large). */
export const MOST_DRAWN = 600;

export interface CardProps {
  /** kebab-case; the section's id is `${id}-card`, tests and links use it */
  id: string;
  title: string;
  children: ComponentChildren;
  tools?: ComponentChildren;
  wide?: boolean;
  /** saves the card's contents as files from its menu; without one there is no menu */
  exporter?: Exporter;
}

export function Card({ id, title, children, tools, wide = false, exporter }: CardProps) {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => (body.current ? keepRoom(body.current) : undefined), []);
  return (
    <section class={wide ? "card wide" : "card"} id={`${id}-card`} aria-labelledby={`${id}-heading`}>
      <div class="row card-head">
        <h2 id={`${id}-heading`}>{title}</h2>
        <div class="row card-tools">
          {tools}
          {exporter && <ExportMenu card={id} title={title} exporter={exporter} />}
        </div>
      </div>
      <div class="card-body" ref={body}>
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
