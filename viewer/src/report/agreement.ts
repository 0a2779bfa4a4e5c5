// How far to believe a map, in words: what blanking the token that it ranks first does to the prediction, and whether
// it ranks tokens as blanking each of them does (docs/report-format.md, "agreement").
import type { Agreement, MapAgreement } from "./document";
import { signed, visible } from "./text";

/** Rank correlations with blank-out from which agreement has this name. */
export const AGREEMENT_FROM = { strong: 0.6, weak: 0.3 };
export type AgreementLevel = "strong" | "weak" | "none" | "unknown";

export function agreementLevel({ rank_correlation: rank }: MapAgreement): AgreementLevel {
  if (rank === undefined) return "unknown";
  return rank >= AGREEMENT_FROM.strong ? "strong" : rank >= AGREEMENT_FROM.weak ? "weak" : "none";
}

/** Two decimals, or two digits of what is smaller. */
export const amount = (value: number): string =>
  signed(value !== 0 && Math.abs(value) < 0.1 ? String(Number(value.toPrecision(2))) : value.toFixed(2));

/** "Agreement of the whole order with blank-out: strong (0.82)." */
export function levelWords(map: MapAgreement): string {
  const level = agreementLevel(map);
  if (level === "unknown") return "How all tokens compare with blank-out is not known.";
  const rank = map.rank_correlation ?? 0;
  const words = rank <= -AGREEMENT_FROM.weak ? "opposite" : level;
  return `Agreement of the whole order with blank-out: ${words} (${amount(rank)}).`;
}

/** "Blanking its top token, “Angie”, takes the logit difference from 4.10 to −1.30." */
export function effectWords({ quantity, value }: Agreement, map: MapAgreement, label: string): string {
  const top = `Blanking its top token, “${visible(label)}”,`;
  const [before, after] = [amount(value), amount(map.blanked_value)];
  return before === after
    ? `${top} leaves the ${quantity} at ${before}.`
    : `${top} takes the ${quantity} from ${before} to ${after}.`;
}
