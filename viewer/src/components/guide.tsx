// "How to read this": what each method and control means and does not mean. The (i) next to a control opens its entry.
import { AGREEMENT } from "../figures";
import { MIXINGS } from "../report/mixings";
import { Dialog, openDialog } from "./dialog";

export type GuidePlace = "example" | "methods" | "trust" | "mixing" | "recompute" | "filters" | "compare";

interface Section {
  place: GuidePlace;
  title: string;
  terms: Readonly<Record<string, string>>;
}

const CONTRIBUTIONS = MIXINGS.filter(({ needs }) => needs === "terms")
  .map(({ name }) => name)
  .join(", ");

const GUIDE: readonly Section[] = [
  {
    place: "example",
    title: "In 20 seconds",
    terms: {
      "1": "The framed token is the output token: the one whose representation is explained. Click another to explain that one; Shift-click compares it, Ctrl/⌘-click excludes it.",
      "2": "The darker a token, the more the output token depends on it according to the chosen method. The legend shows the numbers.",
      "3": "“Without each token” shows what the model does when a token is replaced by others that could stand there, whatever the map says: blue where the prediction falls, red where it rises. The two lines below compare the map with that: its top token, then its order. ● means that they agree, ◐ that they partly agree, ○ that they do not, or that this is not known.",
    },
  },
  {
    place: "methods",
    title: "Methods",
    terms: {
      raw: "The attention weights of one layer alone. Above the first layer, every position is already a mixture of tokens, so a weight cannot be traced to a single input token.",
      rollout:
        "Attention multiplied along all paths from the output token down to the input. Over attention, each row sums to 1. Rollout treats all heads alike and ignores the values and the feed-forward layers; over many layers, it becomes nearly the same for every output token.",
      flow: "The most that could pass from one input token to the output token, with attention as the capacity of each arc. Each value is a separate flow: values do not sum to 1, and each is certified by a minimum cut.",
      "°": "A degenerate flow: it is set by the first or last layer alone; the layers between make no difference.",
      "other methods":
        "attnlrp, gradient × input, blank-out and the like give each token one signed number: above 0 it argues for one prediction, below 0 against it. The layer and the output token do not affect them.",
    },
  },
  {
    place: "trust",
    title: "How far to believe it",
    terms: {
      "blank-out":
        "Each token in turn is replaced by one that carries no meaning, and the model predicts again. If the prediction changes, that token mattered, whatever its attention weight.",
      check:
        "Each token or patch in turn is replaced by others, and the model predicts again. How far the prediction falls, on average, says how much it needs that token or patch: the row below the text, the small map beside a picture. A patch is replaced alone and together with its neighbors, which often show the same. Several replacements of one token also show how far the check agrees with itself (its reliability).",
      agreement: `A map’s top token is right if the prediction falls without it by at least half as much as without the token that matters most. The order agrees with the check from a rank correlation of ${AGREEMENT.strong} times the most that the check’s own reliability allows, and partly from ${AGREEMENT.weak} times. A map that an attention sink holds nearly all of, or that is all 0, ranks nothing, and is not judged. ● right, ◐ right with another order, or unsure, ○ another token decides. It applies to this text only, not to the method in general.`,
      "insertion and deletion":
        "Patches are removed in a map’s order, the first-ranked first, until none is left (deletion), or come back in that order to a blank picture (insertion). The better the order, the sooner the prediction falls without them, and the sooner it returns with them: a small area under the deletion line and a large one under the insertion line.",
      "logit difference":
        "How strongly the model prefers its prediction to the alternatives (the mean of the ten most probable other tokens, or of all other classes), in logits, the scores from which it computes probabilities. Below 0, the model no longer prefers it.",
      "attention sink":
        "Models park attention that they do not need on special tokens or, in decoders, on the first token. Such attention says little about meaning, so these tokens are excluded from colors and rankings until you include them.",
    },
  },
  {
    place: "mixing",
    title: "Mixing",
    terms: {
      mixing:
        "What each layer's matrix is built from: attention, contributions, or relevance. The methods are applied to these matrices.",
      attention: "The attention weights, as in the paper by Abnar and Zuidema (2020).",
      gradient: "Attention weighted by the gradient of the prediction, without negative values.",
      [CONTRIBUTIONS]:
        "How much each token contributes to another token's vector, including the residual connection: a better account of the layer than its attention weights.",
      relevance:
        "How much each token contributes to one prediction, propagated back through the layers (AttnLRP), in units of that prediction's logit.",
    },
  },
  {
    place: "recompute",
    title: "Recompute with…",
    terms: {
      "residual weight ρ":
        "Each layer's matrix is A = (1 − ρ) W + ρ I: W holds its weights, and I is the residual connection, which keeps each token in place. The paper uses 0.5; 0 ignores the connection.",
      heads:
        "How the heads of a layer become one matrix: their mean, maximum, minimum, or a single head in the layer shown.",
      "start layer":
        "The layer to trace back to. Above 0, the map is over that layer's positions, which are mixtures, not input tokens.",
      "mask columns":
        "Weights to these tokens are set to 0 in every layer, and rows are divided by their sums again. Masking changes the numbers; excluding tokens does not.",
      "discard smallest": "This share of each layer's weights, the smallest ones, is set to 0.",
      normalize:
        "Rows: each output token's values sum to 1. By receptive field: each value is divided by its value under uniform attention, and then each row by its sum, which removes the advantage of a decoder's early tokens.",
    },
  },
  {
    place: "filters",
    title: "Excluding tokens",
    terms: {
      excluded:
        "Hatched tokens have no color and no rank, and do not affect the color scale. Every number is still computed with them.",
    },
  },
  {
    place: "compare",
    title: "Comparing",
    terms: {
      "B − A":
        "Blue where B is larger, red where it is smaller. If the two methods have different totals, each is divided by its own first.",
    },
  },
];

/** @param place the entry to open at; absent: the beginning */
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
