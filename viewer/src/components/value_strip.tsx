// The text coloured by one number a token, on a scale of its own: small, several side by side.
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
  /** which tokens are coloured and set the scale; without it all */
  counts?: readonly boolean[];
  /** the output token that the values are of; null: none */
  output?: number | null;
  /** whose values; without it other scores than explanations */
  method?: Method;
  /** what pointing at a token calls this view */
  view: string;
}

export function ValueStrip({ name, title, values, counts, output = null, method, view }: ValueStripProps) {
  const viewer = useViewer();
  const { report } = viewer;
  const used = counts ?? report.tokens.map(() => true);
  const max = values ? largest(values, used) : 0;
  // Other scores than explanations park nothing anywhere.
  const ends =
    method && isScore(method)
      ? signedEnds(report, values, used)
      : output === null
        ? { least: 0, top: max, above: max }
        : endsOf(report, [values], output, used);
  const shades = viewer.shades(ends, method);
  // Of a generation what comes after the output token is not there yet.
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
