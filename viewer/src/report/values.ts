// A report's arrays, decoded: rows (the last dimension) are made on demand, so that a page of thousands of tokens holds
// compact codes rather than all its numbers.
import type { EncodedArray, EncodedBytes, LogArray, TopArray } from "./document";

export type Numbers = Float32Array | Float64Array | Uint8Array;

/** An array [.., n] as rows of n. */
export interface Values {
  readonly shape: readonly number[];
  readonly rows: number;
  readonly n: number;
  /** Largest relative error of a value; 0: as exact as the file's numbers. */
  readonly error: number;
  /** The result must not be modified. Row numbers run over all dimensions but the last. */
  row(index: number): Numbers;
  /** All rows, one after another, if they are stored that way in memory. */
  readonly all?: Numbers;
  /**
   * Sparse arrays: adds `factor` times a row to `target`, in time linear in the number of stored values. The uniform
   * part goes to `level` as differences: level[j] applies to the columns from j on.
   */
  add?(index: number, factor: number, target: Float64Array, level: Float64Array): void;
  /** Sparse arrays: the number of a row's stored values, and the sum of the others. */
  kept?(index: number): { count: number; rest: number };
}

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let j = 0; j < values.length; ++j) total += values[j];
  return total;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function bytesOf({ encoding, data }: EncodedBytes | LogArray): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = fromBase64(data);
  if (encoding === "base64") return bytes;
  if (encoding !== "zlib+base64") throw new Error(`unknown encoding ${encoding}`);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Converts float16 codes to numbers. */
function halvesToFloats(codes: Uint16Array): Float32Array {
  const floats = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; ++i) {
    const exponent = (codes[i] >> 10) & 31;
    const fraction = codes[i] & 1023;
    let magnitude = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
    if (exponent === 31) magnitude = fraction === 0 ? Infinity : NaN;
    floats[i] = codes[i] & 0x8000 ? -magnitude : magnitude;
  }
  return floats;
}

async function numbersOf(part: EncodedBytes): Promise<Numbers> {
  const bytes = await bytesOf(part);
  switch (part.dtype) {
    case "f64":
      return new Float64Array(bytes.buffer);
    case "f32":
      return new Float32Array(bytes.buffer);
    case "f16":
      return halvesToFloats(new Uint16Array(bytes.buffer));
    case "u8":
      return bytes;
    case "u16":
      return Float32Array.from(new Uint16Array(bytes.buffer));
    default:
      throw new Error(`unknown array type ${(part as { dtype: string }).dtype}`);
  }
}

const rowsOf = (shape: readonly number[]) => shape.slice(0, -1).reduce((a, b) => a * b, 1);

function expectLength(found: number, expected: number, what: string) {
  if (found !== expected) throw new Error(`expected ${expected} ${what}, found ${found}`);
}

/** Rows that lie one after another in memory. */
export function denseValues(shape: readonly number[], data: Numbers, error = 0): Values {
  const n = shape.at(-1) ?? 0;
  return { shape, rows: rowsOf(shape), n, error, all: data, row: (index) => data.subarray(index * n, (index + 1) * n) };
}

/** Adds the values that the differences represent, and clears them. */
export function settle(target: Float64Array, level: Float64Array) {
  if (level.every((difference) => difference === 0)) return;
  let sum = 0;
  for (let j = 0; j < target.length; ++j) {
    sum += level[j];
    const value = target[j] + sum;
    // Rounding residue in columns that no row sees.
    target[j] = value > 1e-14 ? value : 0;
  }
  level.fill(0);
}

/** The mean of some rows; for a single one, the row itself. */
export function meanRow(values: Values, rows: readonly number[]): Numbers {
  if (rows.length === 1) return values.row(rows[0]);
  const mean = new Float64Array(values.n);
  const level = new Float64Array(values.n + 1);
  for (const index of rows) {
    if (values.add) values.add(index, 1, mean, level);
    else for (const [j, value] of values.row(index).entries()) mean[j] += value;
  }
  settle(mean, level);
  return mean.map((sum) => sum / rows.length);
}

/** The value of code c in a row whose maximum is 1. */
function logTable(decades: number): Float32Array {
  return Float32Array.from({ length: 256 }, (_, c) => (c === 0 ? 0 : 10 ** ((-decades * (255 - c)) / 254)));
}

async function logValues(array: LogArray): Promise<Values> {
  const [codes, scales] = [await bytesOf(array), await numbersOf(array.scales)];
  const n = array.shape.at(-1) ?? 0;
  const rows = rowsOf(array.shape);
  expectLength(codes.length, rows * n, "codes");
  expectLength(scales.length, rows, "scales");
  const table = logTable(array.decades);
  const row = (index: number) => {
    const values = new Float32Array(n);
    const begin = index * n;
    for (let i = 0; i < n; ++i) values[i] = scales[index] * table[codes[begin + i]];
    return values;
  };
  return { shape: array.shape, rows, n, error: array.error ?? 0, row };
}

/** @param visible number of columns that a row can see: values that are not stored share its rest */
async function topValues(array: TopArray, visible: (index: number) => number): Promise<Values> {
  const counts = await numbersOf(array.counts);
  const columns = (await numbersOf(array.columns)) as Uint8Array;
  const codes = await numbersOf(array.codes);
  const scales = await numbersOf(array.scales);
  const rest = await numbersOf(array.rest);
  const n = array.shape.at(-1) ?? 0;
  const rows = rowsOf(array.shape);
  for (const part of [counts, scales, rest]) expectLength(part.length, rows, "rows");
  const table = logTable(array.decades);
  // Where each row begins among the codes and among the columns' bytes.
  const firstCode = new Uint32Array(rows + 1);
  const firstByte = new Uint32Array(rows + 1);
  let byte = 0;
  for (let r = 0; r < rows; ++r) {
    firstCode[r + 1] = firstCode[r] + counts[r];
    for (let left = counts[r]; left > 0; --left) while (columns[byte++] & 0x80);
    firstByte[r + 1] = byte;
  }
  expectLength(codes.length, firstCode[rows], "codes");
  expectLength(columns.length, byte, "bytes of columns");
  // Column offset to the stored value after the one at byte `at`; leaves `next` after it.
  let next = 0;
  const gapAt = (at: number) => {
    let gap = 0;
    let shift = 0;
    for (next = at; ; shift += 7) {
      const part = columns[next++];
      gap |= (part & 0x7f) << shift;
      if (!(part & 0x80)) return gap + 1;
    }
  };
  const evenOf = (index: number, seen: number) => {
    const others = seen - counts[index];
    return others > 0 ? rest[index] / others : 0;
  };
  const each = (index: number, use: (column: number, value: number) => void) => {
    let column = -1;
    next = firstByte[index];
    for (let k = firstCode[index]; k < firstCode[index + 1]; ++k) {
      column += gapAt(next);
      use(column, scales[index] * table[codes[k]]);
    }
  };
  const row = (index: number) => {
    const seen = visible(index);
    const values = new Float32Array(n).fill(evenOf(index, seen), 0, seen);
    each(index, (column, value) => (values[column] = value));
    return values;
  };
  const add = (index: number, factor: number, target: Float64Array, level: Float64Array) => {
    const seen = visible(index);
    const even = evenOf(index, seen);
    level[0] += factor * even;
    if (seen < n) level[seen] -= factor * even;
    each(index, (column, value) => (target[column] += factor * (value - even)));
  };
  const kept = (index: number) => ({ count: counts[index], rest: rest[index] });
  return { shape: array.shape, rows, n, error: array.error ?? 0, row, add, kept };
}

/** An entry of a document's `arrays`. @param visible columns that a row sees, if not all: i + 1 in causal models */
export async function decodeArray(array: EncodedArray, visible?: (row: number) => number): Promise<Values> {
  const { shape } = array;
  if (!Array.isArray(shape) || shape.length === 0) throw new Error("expected the shape of an array, found none");
  if (array.dtype === "log8") return logValues(array);
  if (array.dtype === "top") return topValues(array, visible ?? (() => shape.at(-1) ?? 0));
  const data = await numbersOf(array);
  expectLength(
    data.length,
    shape.reduce((a, b) => a * b, 1),
    "numbers",
  );
  return denseValues(shape, data, array.error ?? (array.dtype === "f16" ? 2 ** -11 : 0));
}
