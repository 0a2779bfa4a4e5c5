import type { PlainArray, ReportDocument } from "../../src/report/document";

type Filled = "output_token" | "output_tokens" | "flow_output_tokens" | "predictions";
/** A report of attnflow's, which leaves nothing out, with arrays as they are. */
export type Sample = Omit<ReportDocument, "arrays" | Filled | "generation"> &
  Required<Pick<ReportDocument, Filled | "generation">> & {
    arrays: Record<string, PlainArray>;
    certificates: { output_token: number; input_token: number; layer: number; flow: number; minimum_cut: number[][] }[];
  };
export type Kind = "" | "generation" | "image";
export interface SamplePage {
  name: string;
  json: string;
  html: string;
}

export function samplePages(kind: Kind): SamplePage[];
export function samplePage(kind: Kind, wanted: string): SamplePage;
export function fixture(name: string): { report: Sample; cases: { arguments: string[]; arrays: Sample["arrays"] }[] };
export function reportOf(kind: Kind, name: string): Sample;
export function embeddedOf(kind: Kind, name: string): ReportDocument;
export function withWords(report: Sample): Sample;
export function numbersOf(array: PlainArray): Float64Array | Float32Array | Uint8Array;
export function arrayOf(shape: number[], values: Iterable<number>): PlainArray;
export function precisionOf(report: ReportDocument): number;

export class Numbers {
  constructor(report: Sample);
  readonly report: Sample;
  readonly methods: string[];
  has(array: string): boolean;
  layers(array: string): number[];
  rows(array: string): number[];
  row(array: string, token: number, layers?: number[]): number[] | null;
}
