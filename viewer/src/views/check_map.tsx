// Beside a picture's maps: what the model does without each patch, whatever a map says.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { walkWithKeys, type Cell } from "../components/arrow_keys";
import { Card } from "../components/card";
import { Info } from "../components/guide";
import { useViewer } from "../context";
import { exportedStages } from "../export/stages";
import type { Check } from "../report/document";
import { pictureIn, type Picture } from "../report/picture";
import { changeOf, CheckLegend, CheckTip, Replaced } from "./check_parts";
import { stageLook } from "./image_maps";
import { bitmapOf, placeIn, Stage } from "./image_stage";
import { PatchEdges } from "./patch_edges";
import { markNotes, marksOf, PatchMarks } from "./patch_marks";

/** The drop without each patch; NaN for those that were not checked. */
function dropsOf(check: Check, { first, patches }: Picture): Float64Array {
  const drops = new Float64Array(patches).fill(NaN);
  for (const { token, drop } of check.tokens) drops[token - first] = drop;
  return drops;
}

export function CheckMap() {
  const viewer = useViewer();
  const { report } = viewer;
  const { check } = report.document;
  const open = useSignal<number | null>(null);
  if (!check || check.tokens.length === 0) return null;
  const picture = pictureIn(report);
  const map = dropsOf(check, picture);
  const scale = picture.signedScale(map);
  const marks = marksOf(viewer);
  const chosen = check.tokens.find(({ token }) => token === open.value);
  const exporter = {
    svg: () =>
      exportedStages(picture, bitmapOf(picture).image.value, [{ title: "without each patch", map, scale, marks }], {
        ...{ ...stageLook(viewer), overlay: "colour", smooth: false, threshold: 0, token: -1, pair: false },
      }),
    shown: () => ({ notes: markNotes(viewer, marks), file: ["check"] }),
    rows: () => ({
      columns: ["input_token", "row", "column", "drop", "spread"],
      rows: check.tokens.map(({ token, drop, spread }) => {
        const { row, column } = picture.patchOf(token);
        return [token, row, column, drop, spread ?? null];
      }),
    }),
  };
  return (
    <Card id="check" title="Without each patch" open tools={<Info about="check" place="trust" />} exporter={exporter}>
      <div class="check-stage">
        <PatchEdges picture={picture}>
          <Stage picture={picture} map={map} scale={scale} token={open.value ?? -1} plain>
            <PatchMarks picture={picture} marks={marks} />
            <CheckedPatches
              picture={picture}
              check={check}
              open={open.value}
              toggle={(token) => (open.value = open.value === token ? null : token)}
            />
          </Stage>
        </PatchEdges>
      </div>
      <CheckTip check={check} name={(token) => `the patch in ${report.tokens[token].label}`} />
      <CheckLegend check={check} part="patch" />
      {chosen && (
        <Replaced chosen={chosen} check={check}>
          The patch in {report.tokens[chosen.token].label}
        </Replaced>
      )}
    </Card>
  );
}

interface CheckedPatchesProps {
  picture: Picture;
  check: Check;
  open: number | null;
  toggle: (token: number) => void;
}

/** A button for each patch that was checked; the arrow keys walk over all. */
function CheckedPatches({ picture, check, open, toggle }: CheckedPatchesProps) {
  const { report, state } = useViewer();
  const { rows, columns, first } = picture;
  const grid = useRef<HTMLDivElement>(null);
  const focus = useSignal(check.tokens[0].token);
  const at = new Map(check.tokens.map((one) => [one.token, one]));
  const move = ({ row, column }: Cell) => {
    focus.value = picture.tokenOf(row, column);
    grid.current?.querySelector<HTMLElement>(`[data-token="${focus.value}"]`)?.focus();
  };
  const words = (token: number) => {
    const checked = at.get(token);
    return checked ? `: the ${check.quantity} ${changeOf(checked)}` : ", not checked";
  };
  return (
    <div
      class="grid"
      role="group"
      ref={grid}
      aria-label={`Without each of ${rows} by ${columns} patches`}
      style={placeIn(picture, picture.seen)}
      onKeyDown={(event) =>
        void walkWithKeys(event, {
          ...{ columns, rows: [rows - 1, 0], pages: true },
          at: () => picture.patchOf(focus.value),
          move,
        })
      }
      onPointerLeave={() => (state.pointed.value = null)}
    >
      {Array.from({ length: rows }, (_, row) => (
        <div class="grid-row" key={row}>
          {Array.from({ length: columns }, (_, column) => {
            const token = first + row * columns + column;
            return (
              <button
                type="button"
                class="cell checked"
                key={column}
                data-token={token}
                tabIndex={token === focus.value ? 0 : -1}
                aria-disabled={!at.has(token)}
                aria-expanded={open === token}
                aria-label={`${report.tokens[token].label}${words(token)}`}
                onClick={() => {
                  focus.value = token;
                  if (at.has(token)) toggle(token);
                }}
                onPointerEnter={() => (state.pointed.value = { input: token, view: "check" })}
              />
            );
          })}
        </div>
      ))}
    </div>
  );
}
