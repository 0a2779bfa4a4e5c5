// A view with its heading and what it offers (export, help): every view stands in one.
import type { ComponentChildren } from "preact";
import type { Exporter } from "../export/exporter";
import { ExportMenu } from "./export_menu";

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
  return (
    <section class={wide ? "card wide" : "card"} id={`${id}-card`} aria-labelledby={`${id}-heading`}>
      <div class="card-head">
        <h2 id={`${id}-heading`}>{title}</h2>
        <div class="card-tools">
          {tools}
          {exporter && <ExportMenu card={id} title={title} exporter={exporter} />}
        </div>
      </div>
      <div class="card-body">{children}</div>
    </section>
  );
}
