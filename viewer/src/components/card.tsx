// A view with its heading and what it offers (export, help): every view stands in one.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Exporter } from "../export/exporter";
import { ExportMenu } from "./export_menu";

/** Pages of more tokens are drawn where they are looked at (page.css, .large). */
export const MOST_DRAWN = 600;

export interface CardProps {
  /** kebab-case; the section's id is `${id}-card`, tests and links use it */
  id: string;
  title: string;
  children: ComponentChildren;
  /** controls at the right of the heading */
  tools?: ComponentChildren;
  wide?: boolean;
  /** what the card's menu saves as files; without one it has no menu */
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

/** While nobody looks: the height that a card has when it is drawn, so that the page is as long as it says. */
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
      body.dataset.measured = ""; // it is laid out
      return;
    }
    // Browsers remember the height that a skipped element had when it was laid out last, and go by that alone.
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
