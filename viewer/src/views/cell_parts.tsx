// The parts of a picture of cells: cells as rectangles or painted, labels, what is pointed at.
import { cornerAt } from "../components/legend";
import type { Shades } from "../color/shades";
import { chosenFont, fitted, textWidth, unit } from "../components/measure";
import { SPACE_SIGN } from "../components/own_text";
import { format, signed } from "../report/text";
import { MOST_COLUMN, MOST_ROW, type CellLabel, type CellPictureProps, type Layout } from "./cell_layout";
import { blankColour, NO_STEP, stepImage, ticks, TokenLabel } from "./picture";

/** Cells at least this wide show their numbers. */
const WIDE_CELL = 44;
/** Right-to-left labels: what is written last goes on the right, where they begin. */
const RTL = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** Marks what is pointed at: its column, and the cell if the row is known. */
export function Cursor({
  pointed,
  layout,
  rows,
}: {
  pointed: CellPictureProps["pointed"];
  layout: Layout;
  rows: number;
}) {
  const at = pointed.value;
  if (!at) return null;
  const { left, head, cell, height } = layout;
  const place = { x: left + at.column * cell, width: Math.max(2, cell - 1) };
  return (
    <g class="pointing">
      <rect class="column" {...place} y={head} height={rows * height} />
      {at.row !== null && <rect class="cell" {...place} y={head + at.row * height} height={height - 1} />}
    </g>
  );
}

interface DrawnProps extends CellPictureProps {
  layout: Layout;
  shades: readonly Shades[];
}

const isKnown = ({ values, seen }: CellPictureProps, r: number, c: number) => {
  const number = values[r]?.[c];
  return number !== undefined && !Number.isNaN(number) && c < (seen?.(r) ?? Infinity);
};

/** The same for signed values: the largest absolute value shows, in the color of its sign. */
function paintSigned(context: CanvasRenderingContext2D, wide: number, props: DrawnProps) {
  const { columns, rows, values, shades, layout } = props;
  const n = columns.length;
  const width = (n * layout.cell) / wide;
  const gap = layout.cell > 8 ? 1 : 0;
  for (let r = 0; r < rows.length; ++r) {
    const shown = new Float64Array(wide);
    for (let c = 0; c < n; ++c) {
      const at = Math.floor((c * wide) / n);
      const value = isKnown(props, r, c) && !columns[c].excluded ? (values[r]?.[c] ?? 0) : 0;
      if (Math.abs(value) > Math.abs(shown[at])) shown[at] = value;
    }
    for (const [at, value] of shown.entries()) {
      context.fillStyle = shades[r].css(value);
      context.fillRect(at * width, r * layout.height, width - gap, layout.height - 1);
    }
  }
}

/** If a pixel covers several columns, the largest value shows; between wide cells, the background. */
export function paint(context: CanvasRenderingContext2D, ratio: number, props: DrawnProps) {
  const { columns, rows, values, shades, layout } = props;
  const { cell, height } = layout;
  const [n, m] = [columns.length, rows.length];
  const wide = Math.max(1, Math.min(n, Math.round(n * cell * ratio)));
  context.clearRect(0, 0, n * cell, m * height);
  if (shades[0]?.signed) {
    paintSigned(context, wide, props);
    return;
  }
  const steps = new Int16Array(m * wide).fill(-1);
  for (let r = 0; r < m; ++r) {
    for (let c = 0; c < n; ++c) {
      const at = r * wide + Math.floor((c * wide) / n);
      if (columns[c].excluded) steps[at] = wide === n ? NO_STEP : steps[at];
      else if (isKnown(props, r, c)) steps[at] = Math.max(steps[at], shades[r].step(values[r]?.[c] ?? 0));
    }
  }
  context.imageSmoothingEnabled = false;
  if (m > 0) context.drawImage(stepImage(steps, m, wide, shades[0]), 0, 0, n * cell, m * height);
  for (let r = 1; r <= m; ++r) context.clearRect(0, r * height - 1, n * cell, 1);
  for (let c = 1; cell > 8 && c < n; ++c) context.clearRect(c * cell - 1, 0, 1, m * height);
}

/** One rectangle per cell, with its number if it fits, and a corner mark if it lies above the scale. */
export function Cells(props: DrawnProps & { marked: boolean }) {
  const { columns, rows, values, shades, layout, marked } = props;
  const { left, head, cell, height } = layout;
  const blank = `rgb(${blankColour(shades[0]?.dark ?? false).join(" ")})`;
  let corners = "";
  const cells = rows.flatMap((_, r) =>
    columns.map(({ excluded }, c) => {
      const [x, y] = [left + c * cell, head + r * height];
      const place = { x, y, width: Math.max(1, cell - 1), height: height - 1 };
      if (!isKnown(props, r, c)) return <rect {...place} fill={excluded ? "none" : blank} />;
      const value = values[r]?.[c] ?? 0;
      if (marked && !excluded && shades[r].beyond(value)) corners += cornerAt(x + cell - 1, y);
      return [
        <rect {...place} fill={excluded ? "none" : shades[r].css(value)} data-value={value} />,
        cell >= WIDE_CELL * unit() && (
          <text
            class="value"
            x={x + cell / 2}
            y={y + height / 2 + 4 * unit()}
            text-anchor="middle"
            fill={excluded ? "currentColor" : shades[r].ink(value)}
          >
            {shades[r].signed ? signed(value.toFixed(2)) : format(value)}
          </text>
        ),
      ];
    }),
  );
  return (
    <g class="cells">
      <Excluded {...props} />
      {cells}
      {corners && <path class="corners" d={corners} />}
    </g>
  );
}

/** Hatching over excluded columns. */
export function Excluded({ id, columns, rows, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, cell, height } = layout;
  const hatched = columns.map(({ excluded }, c) =>
    excluded ? `M${left + c * cell} ${head}h${cell - 1}v${rows.length * height - 1}h${1 - cell}z` : "",
  );
  if (cell < 1 || hatched.every((path) => !path)) return null;
  return (
    <>
      <defs>
        <pattern id={`${id}-hatch`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path class="hatch" d="M0 0V6" />
        </pattern>
      </defs>
      <path d={hatched.join("")} fill={`url(#${id}-hatch)`} />
    </>
  );
}

interface LabelTextProps {
  label: CellLabel;
  most: number;
  room: number;
  font?: string;
}

function LabelText({ label, most, room, font }: LabelTextProps) {
  const sign = label.space && <tspan class="space">{SPACE_SIGN}</tspan>;
  const rtl = RTL.test(label.label);
  return (
    <>
      <title>{label.label}</title>
      {!rtl && sign}
      {fitted(label.label, label.space ? room - textWidth(SPACE_SIGN, font) : room, most, font)}
      {rtl && sign}
    </>
  );
}

export function ColumnLabels({ columns, rows, onColumn, chosenColumn, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, cell, height, level, labelled, bottom } = layout;
  const below = head + rows.length * height;
  const place = (c: number) => left + (c + 0.5) * cell;
  if (onColumn && !labelled) {
    return (
      <>
        {ticks(0, columns.length, cell, 60 * unit()).map((c) => (
          <text key={c} x={place(c)} y={below + 18 * unit()} text-anchor="middle" class="tick">
            {c}
          </text>
        ))}
        {chosenColumn !== undefined && <path d={`M${place(chosenColumn)} ${below}l5 8h-10z`} class="pointer" />}
      </>
    );
  }
  const step = level ? 1 : Math.max(1, Math.ceil((14 * unit()) / cell));
  return (
    <>
      {columns.map(({ label }, c) =>
        c % step === 0 || onColumn ? (
          <TokenLabel
            key={c}
            x={place(c)}
            y={below + 8}
            label={label.label}
            level={level}
            class={onColumn && (c === chosenColumn ? "label chosen" : "label")}
          >
            <LabelText label={label} most={MOST_COLUMN} room={level ? cell : bottom - 10} />
          </TokenLabel>
        ) : null,
      )}
    </>
  );
}

export function RowLabels({ rows, chosen, sideName, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, height, size } = layout;
  const rowStep = Math.max(1, Math.ceil((12 * unit()) / height));
  return (
    <>
      {sideName && (
        <text class="side" x={size.width - 4} y={14 * unit()} text-anchor="end">
          {sideName}
        </text>
      )}
      {rows.map(({ label, side }, r) => {
        const isChosen = chosen.includes(r);
        const y = head + (r + 0.5) * height + 4 * unit();
        return (
          <g key={r}>
            {(r % rowStep === 0 || isChosen) && (
              <text class={isChosen ? "label chosen" : "label"} x={left - 8} y={y} text-anchor="end" data-row={r}>
                <LabelText label={label} most={MOST_ROW} room={left - 9} font={isChosen ? chosenFont() : undefined} />
              </text>
            )}
            {side && (
              <text class="side" x={size.width - 4} y={y} text-anchor="end">
                {side}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}
