// A picture under one map; its patches can be pointed at and chosen.
import { effect, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { walkWithKeys, type Cell } from "../components/arrow_keys";
import { useViewer } from "../context";
import { isScore, type Method } from "../report/document";
import type { Picture } from "../report/picture";
import { formatOf } from "../report/text";
import { clickToken } from "../shortcuts";
import { MapLegend } from "./image_legend";
import { mapTitle, type ShownMap } from "./image_maps";
import { aspectOf, placeIn, Stage } from "./image_stage";
import { PatchEdges } from "./patch_edges";
import { marksOf, MarksLegend, PatchMarks } from "./patch_marks";

/** The method whose map the pointer is over, if several are shown. */
export const pointedMethod = signal<Method | null>(null);

interface FigureProps extends ShownMap {
  picture: Picture;
}

export function Figure({ picture, method, map, scale }: FigureProps) {
  const viewer = useViewer();
  const { choices, pointed } = viewer.state;
  const at = (event: JSX.TargetedMouseEvent<HTMLElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    return picture.patchAt((event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height);
  };
  const isChosen = method === choices.method.value;
  const beside = choices.overlay.value === "beside";
  // The ranking is that of the chosen method.
  const marks = isChosen ? marksOf(viewer) : [];
  const box = (only: "photo" | undefined, over: ComponentChildren) => (
    <PatchEdges picture={picture}>
      <div
        class="stage-box"
        onClick={(event) => {
          const cell = (event.target as Element).closest<HTMLElement>(".cell");
          const token = cell ? Number(cell.dataset.token) : at(event);
          if (token === null) return;
          clickToken(viewer, token, event, (one) => viewer.explain(one));
          cell?.focus();
        }}
        onPointerMove={(event) => {
          const token = at(event);
          pointedMethod.value = method;
          pointed.value = token === null ? null : { input: token, view: "picture" };
        }}
        onPointerLeave={() => {
          pointedMethod.value = null;
          pointed.value = null;
        }}
      >
        <Stage picture={picture} map={map} scale={scale} token={isScore(method) ? -1 : choices.token.value} only={only}>
          <PatchMarks picture={picture} marks={marks} />
          <PointedPatch picture={picture} />
          {over}
        </Stage>
      </div>
    </PatchEdges>
  );
  return (
    <figure
      data-method={method}
      style={{
        maxWidth: `calc(max(14rem, 100svh - var(--above) - var(--below)) * ${(beside ? 2 : 1) * aspectOf(picture)})`,
      }}
    >
      <h3>{mapTitle(method, choices.layer.value)}</h3>
      <div class={beside ? "stage-pair" : undefined}>
        {beside && box("photo", null)}
        {box(
          undefined,
          <>
            {map === null && (
              <div class="missing">
                <span>No {method} values here</span>
              </div>
            )}
            {isChosen && <PatchGrid picture={picture} />}
          </>,
        )}
      </div>
      {map && <MapLegend scale={scale} map={map} />}
      <MarksLegend marks={marks} />
    </figure>
  );
}

/** The patch pointed at, here or in another view. */
function PointedPatch({ picture }: { picture: Picture }) {
  const at = useViewer().state.pointed.value;
  if (!at || !picture.isPatch(at.input)) return null;
  return <div class="pointed-patch" style={placeIn(picture, picture.placeOf(at.input))} />;
}

/** Elements for the patches, for keyboards and screen readers. Created once, then painted in place. */
function PatchGrid({ picture }: { picture: Picture }) {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, pointed } = state;
  const { rows, columns, first } = picture;
  const grid = useRef<HTMLDivElement>(null);
  // The patch where the arrow keys start, even while a special token is chosen.
  const focus = useRef(picture.isPatch(choices.token.value) ? choices.token.value : first);
  useLayoutEffect(() => {
    const cells = [...(grid.current?.querySelectorAll<HTMLElement>(".cell") ?? [])];
    return effect(() => {
      const token = choices.token.value;
      if (picture.isPatch(token)) focus.current = token;
      const row = explanation.value.row(choices.method.value, choices.layer.value, token);
      for (const [p, cell] of cells.entries()) {
        const value = row?.[first + p];
        const words = formatOf(choices.method.value);
        cell.setAttribute("aria-label", `${report.tokens[first + p].label}, ${row ? words(value) : "not computed"}`);
        cell.setAttribute("aria-selected", String(first + p === token));
        cell.tabIndex = first + p === focus.current ? 0 : -1;
        cell.dataset.value = value === undefined ? "" : String(value);
      }
    });
  }, [picture]);
  const choose = ({ row, column }: Cell) => {
    const token = picture.tokenOf(row, column);
    choices.token.value = token;
    grid.current?.querySelector<HTMLElement>(`[data-token="${token}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) =>
    void walkWithKeys(event, {
      columns,
      rows: [rows - 1, 0],
      pages: true,
      at: () => picture.patchOf(focus.current),
      move: choose,
      choose,
    });
  const cells = useMemo(
    () =>
      Array.from({ length: rows }, (_, row) => (
        <div class="grid-row" role="row" key={row}>
          {Array.from({ length: columns }, (_, column) => (
            <div class="cell" role="gridcell" key={column} data-token={picture.tokenOf(row, column)} />
          ))}
        </div>
      )),
    [picture],
  );
  return (
    <div
      class="grid"
      role="grid"
      ref={grid}
      aria-label={`${rows} by ${columns} patches`}
      aria-describedby="picture-help"
      style={placeIn(picture, picture.seen)}
      onKeyDown={onKeyDown}
      onFocusIn={({ target }) => {
        const cell = target as HTMLElement;
        if (cell.matches(":focus-visible")) pointed.value = { input: Number(cell.dataset.token), view: "picture" };
      }}
      onFocusOut={() => (pointed.value = null)}
    >
      {cells}
    </div>
  );
}
