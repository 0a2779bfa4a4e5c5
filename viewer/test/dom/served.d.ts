import type { Sample } from "./samples";

export interface Asked {
  path: string;
  query: Record<string, string>;
  // Whatever the page sends: tests say what it has to be.
  body: Record<string, unknown> & Blob;
  type: string | null;
  authorization: string;
  /** the page went before the answer was complete */
  left: boolean;
  stopId?: string;
}
export type Answer = (path: string, body: Asked["body"], asked: Asked) => object;
export type Steps = Record<string, unknown>[];

interface Options {
  document?: Answer;
  token?: string;
  chat?: boolean;
  steps?: Steps;
  hold?: (said: number) => unknown;
  wait?: () => unknown;
  breaks?: { after: number; error?: object };
}
interface Served {
  asked: Asked[];
  fetch: typeof fetch;
  asks(path: string): Asked[];
}

export const PIXEL: string;
export const answer: Answer;
export function stream(): { report: Sample; steps: Steps };
export function evaluation(): {
  correlations: { score: string; tokens: string; method: string; layer: number; spearman: number | null }[];
  scores: { name: string; values: number[] }[];
};
export function served(options?: Options): Served;
