// A generation in progress, from the server's events. The same views show it as show the finished report; for each
// token so far there is rollout over the default layers.
import {
  type Choice,
  type GenerationFields,
  type ModelFields,
  type ReportDocument,
  type TokenFields,
} from "../report/document";
import { GenerationReport } from "../report/generation_report";
import { USUAL_RECIPE } from "../report/recipe";
import type { Values } from "../report/values";

/** The server's `event: prompt`. */
export interface LivePrompt {
  /** absent from servers that do not report what tokens draw on as they arrive */
  model?: ModelFields;
  /** including the chat template */
  text: string;
  tokens: TokenFields[];
  /** the layers whose mean the tokens' rollout is */
  layers: number[];
}

/** The server's `event: token`. */
export interface LiveToken {
  /** from 0 */
  index: number;
  /** characters that it adds to the text; may be empty */
  text: string;
  /** as the tokenizer spells it */
  piece?: string;
  special?: boolean;
  probability?: number;
  choices?: Choice[];
  /** over the prompt's tokens; absent if rollout was not requested */
  rollout?: number[];
  /** over the tokens generated before it, if requested */
  rollout_generated?: number[];
}

const encoder = new TextEncoder();

export class GrowingGeneration {
  private readonly document: ReportDocument;
  private readonly fields: GenerationFields;
  private readonly rows: { prompt: readonly number[]; generated: readonly number[] }[] = [];
  private bytes = 0;

  constructor(
    { model, text, tokens, layers }: LivePrompt & { model: ModelFields },
    asked: { chat?: boolean; temperature?: number; top_p?: number; seed?: number; mask_columns?: string } = {},
  ) {
    this.fields = {
      text: "",
      stopped: "interrupted",
      chat: asked.chat ?? false,
      temperature: asked.temperature ?? 0,
      top_p: asked.top_p ?? 1,
      seed: asked.seed ?? 0,
      tokens: [],
      excluded: [],
    };
    this.document = {
      format: "attnflow-report",
      version: 3,
      settings: {
        method: ["rollout"],
        mixing: "attention",
        target: "auto",
        ...USUAL_RECIPE,
        mask_columns: asked.mask_columns ?? "none",
        discard_keep_special: false,
        layers,
        output_token: "auto",
        words: false,
        flow_tolerance: 0,
        top_k: 10,
      },
      model,
      input: { kind: "generation", text, tokens },
      generation: this.fields,
      notes: [],
      arrays: {},
    };
  }

  /** Adds the next token if it has its row; returns false for others, which are ignored. */
  add({ index, text, piece, special, probability, choices, rollout, rollout_generated: generated }: LiveToken) {
    if (index !== this.rows.length || rollout?.length !== this.document.input.tokens.length) return false;
    const begin = this.bytes;
    this.bytes += encoder.encode(text).length;
    this.fields.text += text;
    this.fields.tokens.push({
      id: 0,
      text: piece ?? text,
      begin,
      end: this.bytes,
      special: special ?? false,
      probability: probability ?? NaN,
      choices: choices ?? [],
    });
    this.rows.push({ prompt: rollout, generated: generated ?? [] });
    return true;
  }

  report(): GenerationReport {
    const fields = { ...this.fields, tokens: [...this.fields.tokens] };
    const { document, rows } = this;
    const m = document.input.tokens.length;
    const n = fields.tokens.length;
    // Tokens have one row, of the default layers; the page offers no other choice until the report arrives.
    const values = (part: "prompt" | "generated", columns: number): Values => ({
      ...{ shape: [document.settings.layers.length, n, columns], rows: n, n: columns, error: 0 },
      row(index) {
        const row = new Float64Array(columns);
        row.set(rows[index % n][part]);
        return row;
      },
    });
    const arrays = new Map([["rollout", values("prompt", m)]]);
    // The first token has no predecessor.
    if (n < 2 || rows[1].generated.length > 0) arrays.set("rollout_generated", values("generated", n));
    const outputs = Array.from(rows.keys(), (token) => m - 1 + token);
    return new GenerationReport({ ...document, generation: fields, output_tokens: outputs }, arrays);
  }
}
