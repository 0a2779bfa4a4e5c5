// "How to read this": what each method and control means and does not mean, in the page itself; opened at its place by the
// (i) beside a control.
import { AGREEMENT } from "../figures";
import { Dialog, openDialog } from "./dialog";

/** Places in the guide. */
export type GuidePlace = "example" | "methods" | "trust" | "mixing" | "recompute" | "filters" | "compare";

interface Section {
  place: GuidePlace;
  title: string;
  /** what each means, in the order in which they stand there */
  terms: Readonly<Record<string, string>>;
}

const GUIDE: readonly Section[] = [
  {
    place: "example",
    title: "In 20 seconds",
    terms: {
      "1": "The framed token is the output token: the one whose representation is explained. Click another to explain that one; Shift-click compares it, Ctrl/⌘-click excludes it.",
      "2": "The darker a token, the more the output token depends on it, by the method that is chosen. The legend has the numbers.",
      "3": "The line below the heading, ● or ◐ or ○, says whether to believe it: blank the token that is ranked first, and see whether the prediction changes. ● the order agrees with blanking, ◐ in part, ○ not, or that is not known.",
    },
  },
  {
    place: "methods",
    title: "Methods",
    terms: {
      raw: "The attention weights of one layer alone. Above the first layer every position is a mixture already, so a weight cannot be traced to a single input token.",
      rollout:
        "Attention multiplied along all paths from the output token down to the input. Of attention, each row sums to 1. It takes all heads to be alike and ignores what the values and the feed-forward layers do; through many layers it tends to one column for all tokens.",
      flow: "The most that could pass from one input token to the output token, with attention as the capacity of each arc. Each value is a flow by itself: values do not sum to 1, and each is certified by a minimum cut.",
      "°": "A degenerate flow: it is set by the first or last layer alone; the layers between make no difference.",
      "other methods":
        "attnlrp, gradient × input, blank-out and the like give each token one number with a sign, for or against one prediction. Layer and output token do not matter to them.",
    },
  },
  {
    place: "trust",
    title: "How far to believe it",
    terms: {
      "blank-out":
        "Each token in turn is replaced by one that carries no meaning, and the model predicts again. What changes the prediction mattered, whatever attention says.",
      agreement: `Rank correlation of the map with blank-out: strong from ${AGREEMENT.strong}, weak from ${AGREEMENT.weak}, none around 0, opposite from −${AGREEMENT.weak} down. ● is strong, ◐ weak, ○ neither; one step less where another token matters much more than the one ranked first. It applies to this text only, not to the method in general.`,
      "logit difference":
        "How far the model prefers its prediction to the runner-up, or to the mean of all other classes, in the units in which it decides, before they become probabilities: above 0 it still does, below 0 it no longer would.",
      "attention sink":
        "Models send attention that they do not need to special tokens, or in decoders to the first token. It says little about meaning, so it is excluded from colors and rankings until you include it.",
    },
  },
  {
    place: "mixing",
    title: "Mixing",
    terms: {
      mixing:
        "What each layer's matrix is built from: attention, contributions, or relevance. The methods are applied to these matrices.",
      attention: "The attention weights, as in the paper by Abnar and Zuidema (2020).",
      gradient: "Attention weighted by the gradient of the prediction; what is negative is left out.",
      "norm, globenc, alti, ifr, value-zeroing":
        "How much each token contributes to another's vector, residual connection included: closer to what the layer does than its weights.",
      relevance:
        "What each token contributes to one prediction, propagated back through the layers (AttnLRP). In units of that prediction's logit.",
    },
  },
  {
    place: "recompute",
    title: "Recompute with…",
    terms: {
      "residual weight ρ":
        "Each layer's matrix is A = (1 − ρ) W + ρ I: W are its weights, I the residual connection, which keeps each token in place. 0.5 is the paper's; 0 ignores the connection.",
      heads:
        "How the heads of a layer become one matrix: their mean, maximum, minimum, or one head in the layer that is looked at.",
      "start layer":
        "The layer to trace back to. Above 0, the map is over that layer's positions, which are mixtures, not input tokens.",
      "mask columns":
        "Weights to these tokens are set to 0 in every layer, and rows are divided by their sums again. It changes the numbers; excluding tokens does not.",
      "discard smallest": "This share of the smallest weights of each layer is set to 0.",
      normalize:
        "Rows: each output token's values sum to 1. By receptive field: each is divided by what the method gives it under uniform attention, then rows by their sums, which takes the advantage of a decoder's early tokens away.",
    },
  },
  {
    place: "filters",
    title: "Excluding tokens",
    terms: {
      excluded:
        "Hatched tokens have no color and no rank, and set no end of the scale. Every number is still computed with them.",
    },
  },
  {
    place: "compare",
    title: "Comparing",
    terms: {
      "B − A":
        "Blue where B is larger, red where it is smaller. Methods of different sums are divided by their sums first.",
    },
  },
];

/** @param place what it opens at; absent: the beginning */
export function showGuide(place?: GuidePlace) {
  const dialog = openDialog("guide");
  if (!place) return;
  const section = dialog?.querySelector<HTMLElement>(`[data-place="${place}"]`);
  section?.scrollIntoView({ block: "start" });
  section?.focus();
}

export const Info = ({ about, place }: { about: string; place: GuidePlace }) => (
  <button
    type="button"
    class="quiet info"
    aria-label={`About ${about}`}
    title={`About ${about}`}
    onClick={() => showGuide(place)}
  >
    <span aria-hidden="true">i</span>
  </button>
);

export const Guide = () => (
  <Dialog id="guide" class="drawer" title="How to read this">
    {GUIDE.map(({ place, title, terms }) => (
      <section key={place} data-place={place} tabIndex={-1} aria-label={title}>
        <h3>{title}</h3>
        <dl>
          {Object.entries(terms).map(([term, text]) => (
            <>
              <dt>{term}</dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
      </section>
    ))}
  </Dialog>
);
