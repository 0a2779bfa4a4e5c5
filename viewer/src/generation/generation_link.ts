// What is chosen in the page of a generation, as the fragment of its address: #v=1&m=flow&t=5&l=2-4. Only what differs
// from what the page opens with. A fragment may come from anyone, so every value is checked against this report.
import { batch } from "@preact/signals";
import { addressWith, followAddress, fragmentParts } from "../address";
import { PALETTES } from "../color/scale";
import { LONGEST_PATTERN } from "../filters";
import { METHODS } from "../report/document";
import type { GenerationState, Span } from "./generation_state";

const VERSION = "1";
const SPANS: readonly Span[] = ["all", "last"];

const whole = (text: string | null, from: number, to: number) => {
  const value = text !== null && /^\d{1,7}$/.test(text) ? Number(text) : NaN;
  return value >= from && value <= to ? value : null;
};

function layersText(state: GenerationState): string {
  const { span, from, to } = state;
  if (span.value === "one") return String(from.value);
  return span.value === "range" ? `${from.value}-${to.value}` : span.value;
}

/** The fragment, without "#"; "" when nothing differs. */
export function writeGenerationLink(state: GenerationState): string {
  const parts = new URLSearchParams(state.address);
  const { report } = state;
  const set = (key: string, text: string, initial: string) => text !== initial && parts.set(key, text);
  set("m", state.method.value, report.methods.includes("rollout") ? "rollout" : report.methods[0]);
  set("t", String(state.token.value), String(state.firstToken));
  set("l", layersText(state), "all");
  set("n", state.normalized.value ? "1" : "0", "0");
  set("s", state.skipSpecial.value ? "1" : "0", "1");
  set("sw", state.skipStopWords.value ? "1" : "0", "0");
  set("g", state.generated.value ? "1" : "0", "0");
  set("f", state.rules.value.map((on) => (on ? "1" : "0")).join(""), "1".repeat(state.rules.value.length));
  set("re", state.pattern.value, "");
  set("p", state.palette.value, "blue");
  set("c", String(Number(state.threshold.value.toFixed(4))), "0");
  set("b", state.comparing.value ? "1" : "0", "0");
  set("im", state.fromLeast.value ? "1" : "0", "0");
  // A minus: a click that took the token back in.
  set("x", [...state.byHand.value].map(([token, aside]) => (aside ? "" : "-") + token).join("."), "");
  const text = parts.toString();
  return text && `v=${VERSION}&${text}`;
}

/** Whether everything is chosen as the page opens. */
export function untouched(state: GenerationState): boolean {
  const parts = new URLSearchParams(state.address).toString();
  return writeGenerationLink(state) === (parts && `v=${VERSION}&${parts}`);
}

/** Chooses what the fragment says; the rest is as the page opens. */
export function readGenerationLink(fragment: string, state: GenerationState) {
  const parts = fragmentParts(fragment);
  const { report } = state;
  const get = (key: string) => (parts.get("v") === VERSION ? parts.get(key) : null);
  batch(() => {
    const method = METHODS.find((one) => one === get("m"));
    const first = report.methods.includes("rollout") ? "rollout" : report.methods[0];
    state.choose(method && report.methods.includes(method) ? method : first);
    state.step(whole(get("t"), 0, report.n - 1) ?? state.firstToken);
    const layers = report.layersOf(state.method.value);
    const span = get("l") ?? "all";
    const [from, to] = span.split("-", 2).map((text) => whole(text, 1, 100_000));
    state.span.value = SPANS.find((one) => one === span) ?? "all";
    if (from && layers.includes(from)) {
      if (to === undefined) [state.span.value, state.from.value] = ["one", from];
      else if (to && to >= from && layers.includes(to)) {
        [state.span.value, state.from.value, state.to.value] = ["range", from, to];
      }
    }
    state.normalized.value = get("n") === "1";
    state.skipSpecial.value = get("s") !== "0";
    state.skipStopWords.value = get("sw") === "1";
    state.palette.value = PALETTES.find((one) => one === get("p")) ?? "blue";
    const threshold = get("c") ?? "";
    state.threshold.value = /^0\.\d{1,6}$/.test(threshold) ? Number(threshold) : 0;
    state.comparing.value = get("b") === "1";
    state.fromLeast.value = get("im") === "1";
    state.generated.value = get("g") === "1";
    const rules = get("f") ?? "";
    const fits = /^[01]+$/.test(rules) && rules.length === report.fields.dropped.length;
    state.rules.value = report.fields.dropped.map((_, k) => !fits || rules[k] === "1");
    const pattern = get("re") ?? "";
    state.pattern.value = pattern.length <= LONGEST_PATTERN ? pattern : "";
    const byHand = new Map<number, boolean>();
    for (const text of (get("x") ?? "").split(".", report.columns.length)) {
      const token = whole(text.replace(/^-/, ""), 0, report.columns.length - 1);
      if (token !== null) byHand.set(token, !text.startsWith("-"));
    }
    state.byHand.value = byHand;
  });
}

/** Keeps the address and what is chosen alike. Returns how to stop. */
export function followGenerationLink(state: GenerationState): () => void {
  // An address that asked something else says nothing of this report.
  const mine = () => (new URLSearchParams(location.hash.slice(1)).get("ask") ?? "") === (state.address.ask ?? "");
  // What an address says fits a complete report. A page that is shown again is as it was left.
  const first = !state.grew && !state.followed;
  state.followed = true;
  if (first && /^#v=/.test(location.hash) && mine()) readGenerationLink(location.hash, state);
  return followAddress({
    fragment: () => writeGenerationLink(state),
    settled: () => !state.playing.value && !state.arriving.value,
    onMove() {
      if (!state.growing.peek() && mine()) readGenerationLink(location.hash, state);
    },
  });
}

export function generationLink(state: GenerationState): string {
  return addressWith(writeGenerationLink(state));
}
