// How far to trust a map, in words: the effect on the prediction of blanking the token it ranks first, and whether it
// ranks tokens as blanking each of them does (docs/report-format.md, "agreement").
import { AGREEMENT } from "../figures";
import type { Agreement, MapAgreement } from "./document";
import { signed, visible } from "./text";

export type AgreementLevel = "strong" | "weak" | "none" | "unknown";

/**
 * Whether blanking the first token lowers the quantity about as much as blanking any other; true if that is unknown.
 */
export function findsTheDecisive({ value }: Agreement, map: MapAgreement): boolean {
  const { decisive_value: least, blanked_value: after } = map;
  return least === undefined || value - after >= AGREEMENT.decisive * (value - least);
}

/** How well the whole order agrees. */
export function agreementLevel({ rank_correlation: rank }: MapAgreement): AgreementLevel {
  if (rank === undefined) return "unknown";
  return rank >= AGREEMENT.strong ? "strong" : rank >= AGREEMENT.weak ? "weak" : "none";
}

/** Two decimals, or two significant digits if smaller. */
export const amount = (value: number): string =>
  signed(value !== 0 && Math.abs(value) < 0.1 ? String(Number(value.toPrecision(2))) : value.toFixed(2));

/** The verdict on the order shown, which precedes the effect of blanking. */
export const VERDICTS: Readonly<Record<AgreementLevel, string>> = {
  strong: "Blanking agrees",
  weak: "Blanking agrees in part",
  none: "Don’t rely on this order",
  unknown: "Only its top token was checked",
};

/** "Agreement of the whole order with blank-out: strong (0.82)." */
export function levelWords(map: MapAgreement): string {
  const level = agreementLevel(map);
  if (level === "unknown") return "How the whole order compares with blank-out is not known.";
  const rank = map.rank_correlation ?? 0;
  const words = rank <= -AGREEMENT.weak ? "opposite" : level;
  return `Agreement of the whole order with blank-out: ${words} (${amount(rank)}).`;
}

/**
 * "Blanking its top token, “Angie”, flips the prediction: the logit difference from 4.10 to −1.30."; "Blanking its top
 * token, “key”, takes the logit difference from 6.75 to 6.18; blanking “to” takes it to −5.98."
 */
export function effectWords(
  { quantity, value }: Agreement,
  map: MapAgreement,
  labelOf: (token: number) => string | undefined,
  isPatch = false,
): string {
  const name = (token: number) => {
    const label = visible(labelOf(token) ?? "");
    return isPatch ? `the patch in ${label}` : `“${label}”`;
  };
  const top = `Blanking its top ${isPatch ? "patch" : "token"}, ${name(map.first_token)},`;
  const [before, after] = [amount(value), amount(map.blanked_value)];
  // Below the runner-up, it is no longer the prediction.
  const flips = quantity.startsWith("logit difference") && value > 0 && map.blanked_value < 0;
  const effect =
    before === after
      ? `leaves the ${quantity} at ${before}`
      : flips
        ? `flips the prediction: it takes the ${quantity} from ${before} to ${after}`
        : `takes the ${quantity} from ${before} to ${after}`;
  const { decisive_token: decisive, decisive_value: least = value } = map;
  const other =
    decisive !== undefined && decisive !== map.first_token && least < map.blanked_value && least < value
      ? `; blanking ${name(decisive)} takes it to ${amount(least)}`
      : "";
  return `${top} ${effect}${other}.`;
}
