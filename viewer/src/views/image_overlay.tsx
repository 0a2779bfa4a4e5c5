// A map of what the chosen output token draws on, over the picture; also used to choose a patch or special token.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Card } from "../components/card";
import { CheckControl, inOtherForm } from "../components/check_box";
import { SliderControl } from "../components/fields";
import { Own } from "../components/own_text";
import { Tip } from "../components/tip";
import { useViewer, type Viewer } from "../context";
import type { Exporter } from "../export/exporter";
import { exportedStages } from "../export/stages";
import { listen } from "../listen";
import { heldBy } from "../report/contours";
import { isScore } from "../report/document";
import { pictureIn, type Picture } from "../report/picture";
import { targetWords } from "../report/setting_words";
import { AGAINST, FOR, format, formatSigned, percent } from "../report/text";
import { sum } from "../report/values";
import { oneColumn } from "../theme";
import { Figure, pointedMethod } from "./image_figure";
import { EXPLAINED, isGrey, OverlayChoice } from "./image_legend";
import { mapIn, mapTitle, scaleIn, shownMaps, stageLook, type ShownMap } from "./image_maps";
import { bitmapOf, type Bitmap } from "./image_stage";
import { markNotes, marksOf } from "./patch_marks";

/** Marks the card as ready when the picture is there, or cannot be read. */
function useReady(root: RefObject<HTMLElement>, { image, problem }: Bitmap) {
  useEffect(() => {
    const card = root.current?.closest("section");
    if (card && (image.value || problem.value)) card.dataset.ready = "";
  }, [image.value, problem.value]);
}

/** The whole picture fits on the first screen, whatever is above it once the page is drawn. */
function useAbove(root: RefObject<HTMLElement>) {
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
}

function exporterOf(viewer: Viewer, picture: Picture, bitmap: Bitmap, maps: ShownMap[]): Exporter {
  const { choices } = viewer.state;
  const [layer, token, overlay] = [choices.layer.value, choices.token.value, choices.overlay.value];
  const methods = maps.map(({ method }) => method);
  const marks = marksOf(viewer);
  const alone = viewer.scored && methods.length === 1;
  return {
    svg: () =>
      exportedStages(
        picture,
        bitmap.image.value,
        maps.map(({ method, ...shown }) => ({
          title: mapTitle(method, layer),
          marks: method === choices.method.value ? marks : [],
          ...shown,
        })),
        { ...stageLook(viewer), pair: overlay === "beside" },
      ),
    shown: () => ({
      ...(alone ? {} : { method: methods.join(", ") }),
      notes: markNotes(viewer, marks),
      file: alone ? methods : [...methods, `layer${layer}`, `token${token}`],
    }),
    rows: () => {
      const held = overlay === "outline" ? maps.map(({ map }) => map && heldBy(map)) : [];
      /** The smallest outlined share that contains a patch. */
      const within = (p: number) => held.map((shares) => shares?.find(({ inside }) => inside[p])?.share ?? null);
      return {
        columns: [
          ...["layer", "output_token", "input_token", "row", "column", ...methods],
          ...(held.length > 0 ? methods.map((name) => `${name}_within`) : []),
        ],
        rows: Array.from({ length: picture.patches }, (_, p) => {
          const { row, column } = picture.patchOf(picture.first + p);
          const values = maps.map(({ map }) => map?.[p] ?? null);
          return [layer, token, picture.first + p, row, column, ...values, ...within(p)];
        }),
      };
    },
  };
}

export function ImageOverlay() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const picture = pictureIn(report);
  const bitmap = bitmapOf(picture);
  const root = useRef<HTMLDivElement>(null);
  useReady(root, bitmap);
  useAbove(root);
  const maps = shownMaps(viewer);
  const narrow = oneColumn.value;
  const choice = (
    <div class="row">
      {!viewer.scored && <Specials picture={picture} />}
      {report.methods.length > 1 && (
        <CheckControl control="side-control" id="side" on={choices.sideBySide}>
          Every method
        </CheckControl>
      )}
    </div>
  );
  return (
    <Card
      id="picture"
      title={choices.overlay.value === "beside" ? "Beside the picture" : "Over the picture"}
      open
      tools={narrow ? undefined : <OverlayChoice />}
      exporter={exporterOf(viewer, picture, bitmap, maps)}
    >
      <div ref={root}>
        {bitmap.problem.value && (
          <p id="failure" role="alert">
            {bitmap.problem.value}
          </p>
        )}
        {!narrow && choice}
        <div id="stages">
          {maps.map((shown, k) => (
            <Figure key={k} picture={picture} {...shown} />
          ))}
        </div>
        <PictureReadout picture={picture} />
        <details id="picture-options">
          <summary>{narrow ? "Choose another map, or how it is drawn" : "How the map is drawn"}</summary>
          {narrow && (
            <>
              <OverlayChoice />
              {choice}
            </>
          )}
          <Options />
          <Help picture={picture} />
        </details>
      </div>
    </Card>
  );
}

function Help({ picture }: { picture: Picture }) {
  const { report, state, scored } = useViewer();
  const overlay = state.choices.overlay.value;
  return (
    <p class="help" id="picture-help">
      {overlay === "outline" ? "Lines" : "Color"}:{" "}
      {scored
        ? `how much each patch ${FOR} ${targetWords(report)} (blue) or ${AGAINST} it (red).`
        : "how much the chosen output token depends on each patch."}{" "}
      {scored && overlay === "outline"
        ? "Outlined: the fewest patches that together hold 50, 80 and 95% of what argues for it."
        : EXPLAINED[overlay]}{" "}
      {!scored && "Click a patch to explain it"}
      {!scored && picture.specials.length > 0 && ", or the special token above the picture"}
      {!scored && "."}
    </p>
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
      <SliderControl
        id="opacity"
        label={forced ? "Maximum opacity" : "Opacity"}
        words={`${opacity}%`}
        title={opaque || undefined}
        max={100}
        step={5}
        value={opacity}
        disabled={opaque !== ""}
        aria-valuetext={`${opacity}% opaque`}
        choose={(percent) => (choices.opacity.value = percent / 100)}
      />
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
