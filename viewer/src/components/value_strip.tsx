// The text colored by one number per token on its own scale: small, several side by side.
import type { ComponentChildren } from "preact";
import { endsOf, signedEnds } from "../color/ends";
import { useViewer } from "../context";
import { largest } from "../explanation";
import { isScore, type Method } from "../report/document";
import type { Numbers } from "../report/values";
import { HalfText } from "./half_text";
import { Legend } from "./legend";

interface ValueStripProps {
  /** for screen readers and tests: data-strip */
  name: string;
  title: ComponentChildren;
  values: Numbers | null;
  /** which tokens are colored and set the scale; by default all */
  counts?: readonly boolean[];
  /** the output token that the values belong to; null: none */
  output?: number | null;
  /** the method of the values; absent for scores that are not explanations */
  method?: Method;
  /** this view's name when a token in it is pointed at */
  view: string;
}

export function ValueStrip({ name, title, values, counts, output = null, method, view }: ValueStripProps) {
  const viewer = useViewer();
  const { report } = viewer;
  const used = counts ?? report.tokens.map(() => true);
  const max = values ? largest(values, used) : 0;
  // Scores that are not explanations have no attention sinks.
  const ends =
    method && isScore(method)
      ? signedEnds(report, values, used)
      : output === null
        ? { least: 0, top: max, above: max }
        : endsOf(report, [values], output, used);
  const shades = viewer.shades(ends, method);
  // In a generation, tokens after the output token do not exist yet.
  const seen = report.document.generation && output !== null ? output + 1 : report.n;
  return (
    <section class="half" data-strip={name} aria-label={name}>
      <h3>{title}</h3>
      <HalfText of={name} counts={used} {...{ report, values, seen, view }} colours={shades} />
      {values ? (
        <Legend ends={ends} method={method} />
      ) : (
        <p class="help">Not computed for this token and these layers.</p>
      )}
    </section>
  );
}
