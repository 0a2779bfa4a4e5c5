// The values of a matrix, and the raster painted of them.
import { EndsOf, type Ends } from "../color/ends";
import type { Shades } from "../color/shades";
import type { Work } from "../compute/slices";
import { useViewer } from "../context";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import type { Place } from "./matrix_place";
import { stepImageWork, useFound } from "./picture";

/** The values of all rows, and the ends of the scale of those that count. */
export interface Block {
  /** [rows, columns]; NaN where there is no value */
  values: Float32Array;
  rows: number;
  columns: number;
  ends: Ends;
}

/** Collects rows, yielding in between. */
export function* blockOf(
  report: Report,
  outputs: readonly number[],
  row: (output: number) => Numbers | null,
  counts: readonly boolean[],
): Work<Block> {
  const columns = report.n;
  const values = new Float32Array(outputs.length * columns).fill(NaN);
  const ends = new EndsOf();
  for (const [r, output] of outputs.entries()) {
    const found = row(output);
    if (found) {
      values.set(found, r * columns);
      ends.addRow(report, found, output, counts);
    }
    yield;
  }
  return { values, rows: outputs.length, columns, ends: ends.ends };
}

interface Raster {
  steps: Int16Array;
  rows: number;
  columns: number;
}

/** A raster, and coarser ones in which a pixel is the maximum of four: peaks stay visible if pixels are few. */
export interface Drawing {
  canvas: HTMLCanvasElement;
  /** which of the rasters */
  at: number;
  /** of the finest raster */
  rows: number;
  columns: number;
}

/** Rasters with more values are made in slices. */
const AT_ONCE = 5e5;

/** Steps of all values, and coarser rasters with half the side length each. */
function* rastersOf(block: Block | null, shading: Shades, used: readonly boolean[]): Work<Raster[]> {
  if (!block) return [];
  const { values, columns } = block;
  let steps = new Int16Array(values.length);
  for (let r = 0; r < block.rows; ++r) {
    for (let i = 0, e = r * columns; i < columns; ++i, ++e) {
      const value = values[e];
      steps[e] = !used[i] || Number.isNaN(value) ? -1 : shading.step(value);
    }
    if (r % 64 === 63) yield;
  }
  let [h, w] = [block.rows, columns];
  const all: Raster[] = [{ steps, rows: h, columns: w }];
  while (Math.max(h, w) > 256) {
    const [nextH, nextW] = [Math.ceil(h / 2), Math.ceil(w / 2)];
    const coarse = new Int16Array(nextH * nextW).fill(-1);
    for (let r = 0; r < h; ++r) {
      const to = (r >> 1) * nextW;
      for (let i = 0, e = r * w; i < w; ++i, ++e) {
        const at = to + (i >> 1);
        if (steps[e] > coarse[at]) coarse[at] = steps[e];
      }
      if (r % 64 === 63) yield;
    }
    [steps, h, w] = [coarse, nextH, nextW];
    all.push({ steps, rows: h, columns: w });
    yield;
  }
  return all;
}

/** What is painted under the labels. @param pitch pixels per cell */
export function useDrawing(block: Block | null, pitch: number): Drawing | null {
  const viewer = useViewer();
  const { counts, choices } = viewer.state;
  const scale = viewer.scale.value;
  const { found: rasters } = useFound<Raster[]>(
    () => rastersOf(block, viewer.shades(block?.ends ?? new EndsOf().ends), counts.value),
    // The steps are the same for all palettes.
    [block, counts.value, choices.threshold.value, choices.fromLeast.value, choices.log.value],
    (block?.values.length ?? 0) <= AT_ONCE,
  );
  // The finest raster whose cells are at least a pixel; only its colors are computed.
  let finest = 0;
  const pixel = pitch * (devicePixelRatio || 1);
  while (rasters && finest + 1 < rasters.length && pixel * 2 ** finest < 1) ++finest;
  const { found: drawing } = useFound<Drawing | null>(
    function* () {
      if (!rasters || rasters.length === 0) return null;
      const { steps, rows: h, columns: w } = rasters[finest];
      const canvas = yield* stepImageWork(steps, h, w, scale);
      return { canvas, at: finest, rows: rasters[0].rows, columns: rasters[0].columns };
    },
    [rasters, finest, scale],
    (rasters?.[finest]?.steps.length ?? 0) <= AT_ONCE,
  );
  return drawing;
}

export function paint(context: CanvasRenderingContext2D, { canvas, at }: Drawing, place: Place) {
  const { frame, pitchX, pitchY } = place;
  const share = 2 ** at;
  context.imageSmoothingEnabled = at > 0;
  context.imageSmoothingQuality = "high";
  context.clearRect(0, 0, frame.plot.width, frame.plot.height);
  const [x, y] = [place.left(0) - frame.margin, place.top(0) - frame.head];
  context.drawImage(canvas, x, y, canvas.width * share * pitchX, canvas.height * share * pitchY);
}
