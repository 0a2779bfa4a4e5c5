// What the colours mean, and the mark of values above the scale.
import type { Ends } from "../color/ends";
import { ShadesLegend } from "../components/legend";
import { useGeneration } from "./generation_state";

export const ScaleLegend = ({ ends, marked }: { ends: Ends; marked?: boolean }) => (
  <ShadesLegend ends={ends} marked={marked} shades={useGeneration().shades(ends)} />
);
