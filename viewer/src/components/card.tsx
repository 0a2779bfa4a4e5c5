// A view with its heading and what it offers (export, help): every view stands in one.
import type { ComponentChildren } from "preact";

export interface CardProps {
  /** kebab-case; the section's id is `${id}-card`, tests and links use it */
  id: string;
  title: string;
  children: ComponentChildren;
  /** controls at the right of the heading */
  tools?: ComponentChildren;
  wide?: boolean;
}

export function Card({ id, title, children, tools, wide = false }: CardProps) {
  return (
    <section class={wide ? "card wide" : "card"} id={`${id}-card`} aria-labelledby={`${id}-heading`}>
      <div class="card-head">
        <h2 id={`${id}-heading`}>{title}</h2>
        {tools}
      </div>
      {children}
    </section>
  );
}
