// Converts reports of versions 1 and 2 to version 3 in memory: the rest of the page knows only that.
import {
  type Check,
  checkDocument,
  type EncodedArray,
  type GenerationFields,
  type MapCheck,
  readNotes,
  type ReportDocument,
  type Settings,
} from "./document";
import { decodeArray, denseValues, type Values } from "./values";

interface OldDocument extends Omit<ReportDocument, "settings" | "generation"> {
  settings: Omit<Settings, "start_layer" | "mask_columns"> & { to_layer: number; set_aside: string };
  generation?: Omit<GenerationFields, "excluded"> & {
    flow_tokens: number[];
    flow_layers: number[];
    dropped: GenerationFields["excluded"];
  };
}

/** What reports said of their maps when tokens were only blanked: two values of each map, no drops. */
interface OldAgreement {
  quantity: string;
  value: number;
  blank: string;
  maps: (MapCheck & { blanked_value: number; decisive_value?: number })[];
}

function checkOf({ quantity, value, blank, maps }: OldAgreement): Check {
  const drops = new Map<number, number>();
  for (const { first_token, blanked_value, decisive_token, decisive_value } of maps) {
    drops.set(first_token, value - blanked_value);
    if (decisive_token !== undefined && decisive_value !== undefined) drops.set(decisive_token, value - decisive_value);
  }
  const tokens = [...drops].map(([token, drop]) => ({ token, drop })).sort((a, b) => a.token - b.token);
  return { quantity, value, blank, tokens, maps };
}

/** Gives the check its present form, here and in a generation's tokens. */
function withCheck<T extends { check?: Check }>(one: T): T {
  const { agreement } = one as { agreement?: OldAgreement };
  return agreement && !one.check ? { ...one, check: checkOf(agreement) } : one;
}

function withChecks(document: ReportDocument): ReportDocument {
  const checked = withCheck(document);
  const { generation } = checked;
  if (!generation?.tokens.some((token) => withCheck(token) !== token)) return checked;
  return { ...checked, generation: { ...generation, tokens: generation.tokens.map((token) => withCheck(token)) } };
}

/** A parsed document of any version. Throws with a sentence for the user. */
export function upgraded(value: unknown): ReportDocument {
  return withChecks(upgradedLayout(value));
}

function upgradedLayout(value: unknown): ReportDocument {
  const { version } = checkDocument(value);
  if (version >= 3) return value as ReportDocument;
  const { settings: before, generation: generated, ...same } = value as OldDocument;
  const { to_layer: start_layer, set_aside: mask_columns, ...rest } = before;
  const settings = { ...rest, start_layer, mask_columns };
  const document = { ...same, version: 3, upgraded_from: version, settings, notes: readNotes(same.notes) };
  if (!generated) return document;
  const { flow_tokens, flow_layers, dropped: excluded, ...generation } = generated;
  const output_token = document.input.tokens.length - 1;
  const outputs = (tokens: Iterable<number>) => Array.from(tokens, (token) => output_token + token);
  return {
    ...document,
    generation: { ...generation, excluded },
    output_token,
    output_tokens: outputs(generation.tokens.keys()),
    flow_output_tokens: outputs(flow_tokens),
    flow_layers,
  };
}

/** Decodes an array of an upgraded document. @param visible number of columns that a row can see */
export function decodeUpgraded(
  { upgraded_from, generation }: ReportDocument,
  array: EncodedArray,
  visible: (row: number) => number,
): Promise<Values> {
  return upgraded_from && generation ? decodeOldRows(array, visible) : decodeArray(array, visible);
}

/** For a generation: [token, column, layer] as [layer, token, column]. */
async function decodeOldRows(array: EncodedArray & { axis?: number }, visible: (row: number) => number) {
  const { shape } = array;
  const depth = shape.at(-1) ?? 0;
  // The shares of the first token have no columns.
  const [tokens, columns] = shape.length === 3 ? shape : [1, shape[0]];
  const newShape = [depth, ...shape.slice(0, -1)];
  if (array.axis === 1) {
    // Rows run along the columns, one for each token and layer.
    const values = await decodeArray({ ...array, shape: [tokens, depth, columns] }, (row) =>
      visible((row % depth) * tokens + Math.floor(row / depth)),
    );
    const old = (row: number) => (row % tokens) * depth + Math.floor(row / tokens);
    const { add, kept, n, rows, error } = values;
    return {
      ...{ n, rows, error, shape: newShape },
      row: (row: number) => values.row(old(row)),
      add: add && ((row: number, ...rest: [number, Float64Array, Float64Array]) => add(old(row), ...rest)),
      kept: kept && ((row: number) => kept(old(row))),
    };
  }
  const values = await decodeArray(array);
  const turned = new Float64Array(values.rows * depth);
  for (let place = 0; place < values.rows; ++place) {
    for (const [layer, value] of values.row(place).entries()) turned[layer * values.rows + place] = value;
  }
  return denseValues(newShape, turned, values.error);
}
