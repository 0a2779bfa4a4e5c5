// What printed pages say of how their numbers were made: their controls stay on the screen.
import type { Caption } from "../export/exporter";

/** @param props.facts called in this component's drawing, so that only its line follows what is chosen */
export function PrintFacts({ facts }: { facts: () => Caption["facts"] }) {
  return (
    <p class="print-only" id="print-facts">
      {facts()
        .map(([term, text]) => `${term} ${text}`)
        .join("; ")}
      .
    </p>
  );
}
