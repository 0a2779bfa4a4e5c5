// Text and marks around and over the cells of a matrix.
import { EndsOf } from "../color/ends";
import { cornerAt } from "../components/legend";
import { chosenFont, fitted, unit } from "../components/measure";
import { useViewer } from "../context";
import { format } from "../report/text";
import { LABELLED, type Place } from "./matrix_place";
import type { Block } from "./matrix_raster";
import { ticks, TokenLabel, tokenTicks } from "./picture";

/** Cells at least this wide show their numbers. */
const PRINTED = 44;

const range = ([begin, end]: readonly number[]) =>
  Array.from({ length: Math.max(0, end - begin) }, (_, at) => begin + at);

interface NamesProps {
  place: Place;
  labels: readonly string[];
  outputs: readonly number[];
}

/** Names, or positions, of the columns above and the rows on the left. */
export function Names({ place, labels, outputs }: NamesProps) {
  const u = unit();
  const { margin, head } = place.frame;
  const [namedX, namedY] = [place.pitchX >= LABELLED * u, place.pitchY >= LABELLED * u];
  const { report, state } = useViewer();
  const columns = namedX
    ? range(place.columns).map((i) => ({ at: i, words: labels[i] }))
    : tokenTicks(report, place.columns, place.pitchX, 44 * u);
  // If only some tokens have rows, rows are numbered consecutively.
  const rows = namedY
    ? range(place.rows).map((r) => ({ at: r, words: labels[outputs[r]] }))
    : outputs.length === report.n
      ? tokenTicks(report, place.rows, place.pitchY, 44 * u)
      : ticks(...place.rows, place.pitchY, 44 * u).map((r) => ({ at: r, words: String(outputs[r]) }));
  const row = outputs.indexOf(state.choices.token.value);
  return (
    <>
      {columns
        .filter(({ at }) => place.hasColumn(at))
        .map(({ at: i, words }) =>
          namedX ? (
            <TokenLabel
              key={i}
              x={place.left(i + 0.5)}
              y={head - 6}
              label={fitted(words, head - 10)}
              level={false}
              above
            />
          ) : (
            <text key={i} class="tick" x={place.left(i + 0.5)} y={head - 6} text-anchor="middle">
              {words}
            </text>
          ),
        )}
      {rows
        .filter(({ at }) => place.hasRow(at))
        .map(({ at: r, words }) => (
          <text
            key={r}
            class={namedY ? (r === row ? "label chosen" : "label") : "tick"}
            x={margin - (namedY ? 8 : 13)}
            y={place.top(r + 0.5) + 4 * u}
            text-anchor="end"
          >
            {namedY ? fitted(words, margin - 9, undefined, r === row ? chosenFont() : undefined) : words}
          </text>
        ))}
      {row >= 0 && !namedY && place.hasRow(row) && (
        <path class="pointer" d={`M${margin - 10} ${place.top(row + 0.5) - 5}l9 5l-9 5z`} />
      )}
    </>
  );
}

interface MarksProps {
  id: string;
  outputs: readonly number[];
  block: Block | null;
  place: Place;
  marked: boolean;
}

/** Drawn over the cells: numbers where they fit, corner marks above the scale, the chosen row, what is pointed at. */
export function Marks({ id, outputs, block, place, marked }: MarksProps) {
  const viewer = useViewer();
  const { choices, counts: counted } = viewer.state;
  const counts = counted.value;
  const u = unit();
  const { margin, head, plot, n } = place.frame;
  const { pitchX, pitchY } = place;
  const ends = block?.ends ?? new EndsOf().ends;
  const shades = viewer.shades(ends);
  const valueAt = (r: number, i: number) => (block ? block.values[r * n + i] : NaN);
  const cells = () => range(place.rows).flatMap((r) => range(place.columns).map((i) => [r, i, valueAt(r, i)] as const));
  const corners = () =>
    cells()
      .map(([r, i, value]) =>
        counts[i] && shades.beyond(value) ? cornerAt(place.left(i + 1) - 1, place.top(r) + 1) : "",
      )
      .join("");
  const printed = block !== null && pitchX >= PRINTED * u && pitchY >= 18 * u;
  const row = outputs.indexOf(choices.token.value);
  const clip = `${id}-clip`;
  return (
    <>
      <defs>
        <clipPath id={clip}>
          <rect x={margin - 2} y={head - 2} width={plot.width + 4} height={plot.height + 4} />
        </clipPath>
      </defs>
      <g clip-path={`url(#${clip})`}>
        {printed &&
          cells().map(([r, i, value]) =>
            Number.isNaN(value) ? null : (
              <text
                key={`${r} ${i}`}
                class="value"
                x={place.left(i + 0.5)}
                y={place.top(r + 0.5) + 4 * u}
                text-anchor="middle"
                fill={counts[i] ? shades.ink(value) : "currentColor"}
                data-value={value}
              >
                {format(value)}
              </text>
            ),
          )}
        {marked && ends.above > ends.top && <path class="corners" d={corners()} />}
        {row >= 0 && (
          <rect
            class="frame"
            x={place.left(0) - 1}
            y={place.top(row) - 1}
            width={n * pitchX + 2}
            height={Math.max(2, pitchY + 2)}
          />
        )}
        <Crosshair id={id} outputs={outputs} place={place} />
      </g>
    </>
  );
}

interface CrosshairProps {
  id: string;
  outputs: readonly number[];
  place: Place;
}

/** Marks the cell pointed at with its row and column; for something pointed at elsewhere, the parts in this picture. */
function Crosshair({ id, outputs, place }: CrosshairProps) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, output, view } = pointed.value;
  const r = output === undefined ? -1 : outputs.indexOf(output);
  const { pitchX, pitchY } = place;
  const [x, y, w, h] = [place.left(input), place.top(r), Math.max(1.5, pitchX), Math.max(1.5, pitchY)];
  return (
    <g class="pointing" aria-hidden="true">
      <rect class="column" x={x} y={place.top(0)} width={w} height={outputs.length * pitchY} />
      {r >= 0 && view === id && <rect class="row" x={place.left(0)} y={y} width={place.frame.n * pitchX} height={h} />}
      {r >= 0 && <rect class="cell" x={x} y={y} width={w} height={h} />}
    </g>
  );
}
