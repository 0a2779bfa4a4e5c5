import type { Report } from "./report";

/**
 * The share of a token's relevance after a layer that goes through that layer's feed-forward net rather than past it;
 * null where the report does not say.
 */
export function feedForwardOf(report: Report): ((layer: number, token: number) => number) | null {
  const shares = report.array("feed_forward");
  return shares ? (layer, token) => shares.row(layer - 1)[token] : null;
}
