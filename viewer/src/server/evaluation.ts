// The response of POST /api/v1/evaluate: importance scores of a text's tokens, and how each method ranks them.
import type { Method, Note } from "../report/document";

export interface Score {
  /** blank-out, gradient */
  name: string;
  /** the quantity that changes: "probability of plural" */
  target: string;
  values: number[];
}

export interface Correlation {
  score: string;
  tokens: "all" | "without-special";
  method: Method;
  layer: number;
  /** tokens that were ranked */
  count: number;
  /** null: all values are tied, or there are fewer than two */
  spearman: number | null;
}

type Ranked = Correlation & { spearman: number };

interface EvaluationDocument {
  format: "attnflow-text-evaluation";
  version: number;
  target: { label: string; probability: number };
  blank: string;
  methods: Method[];
  layers: number[];
  scores: Score[];
  correlations: Correlation[];
  notes: Note[];
}

/** Table columns that belong together: one score over some of the tokens. */
export interface Group {
  score: string;
  tokens: Correlation["tokens"];
  count: number;
}

export const TOKENS: Record<Correlation["tokens"], string> = {
  all: "all tokens",
  "without-special": "without special tokens",
};

export class Evaluation {
  readonly document: EvaluationDocument;
  readonly groups: Group[] = [];

  constructor(value: unknown) {
    const document = value as Partial<EvaluationDocument> | null;
    if (document?.format !== "attnflow-text-evaluation" || document.version !== 2) {
      throw new Error(`expected an evaluation of attnflow, version 2, found ${JSON.stringify(value)?.slice(0, 80)}`);
    }
    this.document = document as EvaluationDocument;
    for (const { score, tokens, count } of this.document.correlations) {
      if (!this.groups.some((group) => group.score === score && group.tokens === tokens)) {
        this.groups.push({ score, tokens, count });
      }
    }
  }

  private of({ score, tokens }: Group): Correlation[] {
    return this.document.correlations.filter((one) => one.score === score && one.tokens === tokens);
  }

  spearman(group: Group, method: Method, layer: number): number | null {
    return this.of(group).find((one) => one.method === method && one.layer === layer)?.spearman ?? null;
  }

  /** The method and layer whose ranking of a group's tokens is closest; null if none can be ranked. */
  best(group: Group): Ranked | null {
    const ranked = this.of(group).filter((one): one is Ranked => one.spearman !== null);
    return ranked.reduce<Ranked | null>((best, one) => (best && best.spearman >= one.spearman ? best : one), null);
  }

  /** "blank-out, without special tokens: nearest is rollout, layer 4 (0.83)" for each score. */
  summary(): string {
    const sentences = this.document.scores.map(({ name }) => {
      const group = this.groups.filter(({ score }) => score === name).at(-1);
      const best = group && this.best(group);
      if (!group || !best) return `${name}: nothing can be ranked.`;
      return `Best match with ${name}, ${TOKENS[group.tokens]}: ${best.method}, layer ${best.layer} (ρ = ${rho(best.spearman)}).`;
    });
    return sentences.join(" ");
  }

  first({ values }: Score): { index: number; value: number } {
    const value = Math.max(...values);
    return { index: values.indexOf(value), value };
  }

  table() {
    const columns = ["score", "tokens", "count", "method", "layer", "spearman"] as const;
    return { columns, rows: this.document.correlations.map((one) => columns.map((name) => one[name])) };
  }
}

export function rho(value: number | null): string {
  if (value === null) return "–";
  const text = value.toFixed(2);
  return text === "-0.00" ? "0.00" : text.replace("-", "−");
}
