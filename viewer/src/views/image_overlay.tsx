// A map of what the chosen output token draws on, over the picture; also used to choose a patch or special token.
import { effect, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { walkWithKeys, type Cell } from "../components/arrow_keys";
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { CheckControl, inOtherForm } from "../components/check_box";
import { Slider } from "../components/fields";
import { Tip } from "../components/tip";
import { useViewer, type Viewer } from "../context";
import { listen } from "../listen";
import { isScore, type Method } from "../report/document";
import { pictureIn, type MapScale, type Picture } from "../report/picture";
import { targetWords } from "../report/setting_words";
import { AGAINST, FOR, format, formatOf, formatSigned, percent } from "../report/text";
import { sum, type Numbers } from "../report/values";
import { clickToken } from "../shortcuts";
import { heldBy } from "../report/contours";
import { exportedStages, type StageLook } from "../export/stages";
import { EXPLAINED, isGrey, MapLegend, OverlayChoice } from "./image_legend";
import { aspectOf, bitmapOf, placeIn, Stage } from "./image_stage";

/** The method whose map the pointer is over, if several are shown. */
const pointedMethod = signal<Method | null>(null);

export const shownMethods = ({ report, state }: Viewer): Method[] =>
  state.choices.sideBySide.value ? report.methods : [state.choices.method.value];

/** The chosen output token's map and scale in a layer. */
export function mapIn(viewer: Viewer, method: Method, layer: number) {
  const { report, state, explanation } = viewer;
  const token = state.choices.token.value;
  const row = explanation.value.row(method, layer, token);
  return row && pictureIn(report).mapOf(row);
}

/** Whether a map's scale begins at the smallest value: by choice, or if flows lie close together. */
export const fromLeastIn = ({ state }: Viewer, method: Method) =>
  state.choices.fromLeast.value ?? (method === "flow" ? "close" : false);

/** The scale of a method's map. */
const scaleIn = (viewer: Viewer, method: Method, map: Numbers | null): MapScale =>
  isScore(method)
    ? pictureIn(viewer.report).signedScale(map)
    : pictureIn(viewer.report).scale([map], viewer.state.choices.token.value, fromLeastIn(viewer, method));

/** "rollout, layer 3"; a score method has no layer. */
export const mapTitle = (method: Method, layer: number) => (isScore(method) ? method : `${method}, layer ${layer}`);

/** How maps are drawn in files: as they are on the page. */
export function stageLook({ state: { choices }, scale, differenceScale }: Viewer): Omit<StageLook, "pair"> {
  return {
    token: choices.token.value,
    overlay: choices.overlay.value,
    colours: scale.value,
    signed: differenceScale.value,
    smooth: choices.smooth.value,
    threshold: choices.threshold.value,
    opacity: choices.opacity.value,
    grey: isGrey(choices),
  };
}

export function ImageOverlay() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const picture = pictureIn(report);
  const bitmap = bitmapOf(picture);
  const token = choices.token.value;
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const card = root.current?.closest("section");
    if (card && (bitmap.image.value || bitmap.problem.value)) card.dataset.ready = "";
  }, [bitmap.image.value, bitmap.problem.value]);
  // The whole picture fits on the first screen, whatever is above it once the page is drawn.
  useEffect(() => {
    const measure = () => {
      const top = root.current?.querySelector(".stage")?.getBoundingClientRect().top;
      if (top !== undefined) root.current?.style.setProperty("--above", `${Math.round(top + scrollY)}px`);
    };
    let frame = requestAnimationFrame(() => (frame = requestAnimationFrame(measure)));
    const stop = listen({ resize: measure });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, []);
  const layer = choices.layer.value;
  const overlay = choices.overlay.value;
  const maps = shownMethods(viewer).map((method) => {
    const map = mapIn(viewer, method, layer);
    return { method, map, scale: scaleIn(viewer, method, map) };
  });
  const exporter = {
    svg: () =>
      exportedStages(
        picture,
        bitmap.image.value,
        maps.map(({ method, map, scale }) => ({ title: mapTitle(method, layer), map, scale })),
        {
          ...stageLook(viewer),
          pair: overlay === "beside",
        },
      ),
    shown: () => {
      const methods = maps.map(({ method }) => method);
      return {
        ...(viewer.scored && methods.length === 1 ? {} : { method: methods.join(", ") }),
        file: viewer.scored && methods.length === 1 ? methods : [...methods, `layer${layer}`, `token${token}`],
      };
    },
    rows: () => {
      const held = overlay === "outline" ? maps.map(({ map }) => map && heldBy(map)) : [];
      /** The smallest outlined share that contains a patch. */
      const within = (p: number) => held.map((shares) => shares?.find(({ inside }) => inside[p])?.share ?? null);
      const names = maps.map(({ method }) => method);
      return {
        columns: [
          ...["layer", "output_token", "input_token", "row", "column", ...names],
          ...(held.length > 0 ? names.map((name) => `${name}_within`) : []),
        ],
        rows: Array.from({ length: picture.patches }, (_, p) => {
          const { row, column } = picture.patchOf(picture.first + p);
          const values = maps.map(({ map }) => map?.[p] ?? null);
          return [layer, token, picture.first + p, row, column, ...values, ...within(p)];
        }),
      };
    },
  };
  return (
    <Card
      id="picture"
      title={overlay === "beside" ? "Beside the picture" : "Over the picture"}
      tools={<OverlayChoice />}
      exporter={exporter}
    >
      <div ref={root}>
        {bitmap.problem.value && (
          <p id="failure" role="alert">
            {bitmap.problem.value}
          </p>
        )}
        <div class="row">
          {!viewer.scored && <Specials picture={picture} />}
          {report.methods.length > 1 && (
            <CheckControl control="side-control" id="side" on={choices.sideBySide}>
              Every method
            </CheckControl>
          )}
        </div>
        <div id="stages">
          {maps.map((shown, k) => (
            <Figure key={k} picture={picture} {...shown} />
          ))}
        </div>
        <PictureReadout picture={picture} />
        <Options />
        <p class="help" id="picture-help">
          {overlay === "outline" ? "Lines" : "Color"}:{" "}
          {viewer.scored
            ? `how much each patch ${FOR} ${targetWords(report)} (blue) or ${AGAINST} it (red).`
            : "how much the chosen output token depends on each patch."}{" "}
          {viewer.scored && overlay === "outline"
            ? "Outlined: the fewest patches that together hold 50, 80 and 95% of what argues for it."
            : EXPLAINED[overlay]}{" "}
          {!viewer.scored && "Click a patch to explain it"}
          {!viewer.scored && picture.specials.length > 0 && ", or the special token above the picture"}
          {!viewer.scored && "."}
        </p>
      </div>
    </Card>
  );
}

/** Tokens that represent no part of the picture. */
function Specials({ picture }: { picture: Picture }) {
  const { report, state } = useViewer();
  const { token } = state.choices;
  return (
    <div id="specials" class="row" role="group" aria-label="Output token">
      {picture.specials.map((special) => (
        <button
          type="button"
          class="chip"
          key={special}
          data-token={special}
          aria-pressed={token.value === special}
          onClick={() => (token.value = special)}
          onPointerEnter={() => (state.pointed.value = { input: special, view: "picture" })}
          onPointerLeave={() => (state.pointed.value = null)}
        >
          <Own text={report.tokens[special].label} />
        </button>
      ))}
      <span id="chosen-patch" class="help">
        {picture.isPatch(token.value) && `Chosen: ${report.tokens[token.value].label}`}
      </span>
    </div>
  );
}

interface FigureProps {
  picture: Picture;
  method: Method;
  map: Numbers | null;
  scale: MapScale;
}

function Figure({ picture, method, map, scale }: FigureProps) {
  const viewer = useViewer();
  const { choices, pointed } = viewer.state;
  const at = (event: JSX.TargetedMouseEvent<HTMLElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    return picture.patchAt((event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height);
  };
  const isChosen = method === choices.method.value;
  const beside = choices.overlay.value === "beside";
  const box = (only: "photo" | undefined, over: ComponentChildren) => (
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
        <PointedPatch picture={picture} />
        {over}
      </Stage>
    </div>
  );
  return (
    <figure
      data-method={method}
      style={{
        maxWidth: `calc(max(14rem, 100svh - var(--above) - 0.75rem) * ${(beside ? 2 : 1) * aspectOf(picture)})`,
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

/** States a value in words. */
function PictureReadout({ picture }: { picture: Picture }) {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices } = state;
  const method = pointedMethod.value ?? choices.method.value;
  const token = choices.token.value;
  const row = explanation.value.row(method, choices.layer.value, token);
  const input = state.pointed.value?.input ?? null;
  const name = (i: number) => <Own text={report.tokens[i].label} class="name" />;
  const content = (): ComponentChildren => {
    if (!row) {
      const rows = explanation.value.outputTokens(method);
      return (
        <>
          No {method} values for {name(token)}: {method} was computed for{" "}
          {rows.slice(0, 4).map((other, k) => (
            <span key={other}>
              {k > 0 && ", "}
              {name(other)}
            </span>
          ))}
          {rows.length > 4 ? ` and ${rows.length - 4} others.` : " only."}
        </>
      );
    }
    if (isScore(method)) {
      const patches = row.subarray(picture.first, picture.first + picture.patches);
      const total = (sign: number) => formatSigned(sign * sum(patches.map((value) => Math.max(0, sign * value))));
      return (
        <>
          {method}, {targetWords(report)}:{" "}
          {input === null ? (
            `patches argue for it by ${total(1)} and against it by ${total(-1)}.`
          ) : (
            <>
              {name(input)} <b>{formatSigned(row[input])}</b> {row[input] < 0 ? AGAINST : FOR} it
            </>
          )}
        </>
      );
    }
    const { all, patches } = picture.sums(row);
    const logits = viewer.inLogits(method);
    const where = `${method}, layer ${choices.layer.value}`;
    if (input === null) {
      return (
        <>
          {where}:{" "}
          <b>{logits ? `${format(patches)} of ${format(all)} logits` : percent(all > 0 ? patches / all : 0)}</b> of the
          total of {name(token)} falls on patches
          {picture.specials.length > 0 ? ", the rest special tokens." : "."}
        </>
      );
    }
    return (
      <>
        {name(token)} ← {name(input)}: <b>{viewer.words(row[input], method)}</b> ({where})
      </>
    );
  };
  return row ? (
    <Tip view="picture">{content()}</Tip>
  ) : (
    <p class="readout" id="picture-readout">
      {content()}
    </p>
  );
}

function Options() {
  const viewer = useViewer();
  const { state, scored } = viewer;
  const { choices } = state;
  const overlay = choices.overlay.value;
  const lines = overlay === "outline";
  const [method, layer] = [choices.method.value, choices.layer.value];
  const begins = scaleIn(viewer, method, mapIn(viewer, method, layer)).low > 0;
  const forced = overlay === "opacity";
  const boxes = [
    { id: "smooth", label: "Smooth", choice: choices.smooth, off: lines ? "Outlines follow patches" : "" },
    {
      id: "grey",
      label: "Picture in gray",
      choice: choices.grey,
      off: forced ? "Opacity is drawn over the gray picture" : "",
    },
    { id: "lines", label: "Lines between patches", choice: choices.gridLines, off: "" },
    {
      id: "least",
      label: "Stretch contrast (minimum to maximum)",
      choice: inOtherForm(begins, (on) => (choices.fromLeast.value = on)),
      off: lines ? "Outlines have no scale" : scored ? "A signed scale is symmetric around 0" : "",
    },
  ];
  const opacity = Math.round(100 * choices.opacity.value);
  const opaque = lines ? "Outlines are opaque" : overlay === "beside" ? "A map next to the picture is opaque" : "";
  return (
    <div class="row foot">
      <div class="control" title={opaque || undefined}>
        <label for="opacity">
          {forced ? "Maximum opacity" : "Opacity"}{" "}
          <output id="opacity-name" for="opacity">
            {opacity}%
          </output>
        </label>
        <Slider
          id="opacity"
          min={0}
          max={100}
          step={5}
          value={opacity}
          disabled={opaque !== ""}
          aria-valuetext={`${opacity}% opaque`}
          choose={(percent) => (choices.opacity.value = percent / 100)}
        />
      </div>
      {boxes.map(({ id, label, choice, off }) => (
        <CheckControl
          key={id}
          control={`${id}-control`}
          title={off || undefined}
          id={id}
          disabled={off !== ""}
          checked={id === "grey" ? isGrey(choices) : choice.value}
          on={choice}
        >
          {label}
        </CheckControl>
      ))}
    </div>
  );
}
