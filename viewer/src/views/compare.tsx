// Two explanations side by side, with their difference: two methods, two layers, or two reports.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Card } from "../components/card";
import { Own, TokenName } from "../components/own_text";
import { Predictions } from "../components/predictions";
import { alignTokens } from "../compute/align";
import { useViewer, type Viewer } from "../context";
import { Explanation, largest, type Recipe } from "../explanation";
import { pictureOf } from "../export/element_picture";
import { METHODS, type Method } from "../report/document";
import { openReport } from "../report/open_file";
import type { Report } from "../report/report";
import { format, shorten } from "../report/text";
import { compareWith } from "../shortcuts";
import "../styles/compare.css";

/** One side: a row of values for each layer, and which of its tokens count. */
export interface Side {
  report: Report;
  method: Method;
  layer: number;
  token: number;
  /** NaN where a token has no value */
  row(layer: number): Float64Array | null;
  counts: readonly boolean[];
}

function sideOf(
  explanation: Explanation,
  method: Method,
  layer: number,
  token: number,
  shares: boolean,
  counts: readonly boolean[],
): Side {
  const row = (at: number) => {
    const values = explanation.row(method, at, token);
    if (!values) return null;
    const copy = Float64Array.from(values);
    if (!shares) return copy;
    let sum = 0;
    for (const value of copy) if (value < Infinity) sum += value;
    return sum > 0 ? copy.map((value) => value / sum) : copy;
  };
  return { report: explanation.report, method, layer, token, row, counts };
}

/** The second side minus the first, for each token of the first; NaN where the second has no counterpart. */
export function difference(first: Float64Array, second: Float64Array, match: Int32Array): Float64Array {
  return first.map((value, i) => (match[i] < 0 ? NaN : second[match[i]] - value));
}

const countsOf = (report: Report, skipSpecial: boolean) =>
  report.tokens.map((token) => !(skipSpecial && token.special));
const nearest = (layers: readonly number[], layer: number) =>
  layers.includes(layer) ? layer : (layers.findLast((l) => l <= layer) ?? layers[0] ?? 1);

const nameOf = (viewer: Viewer, report: Report) =>
  report === viewer.report
    ? "this report"
    : [report.model.name, shorten(report.document.input.text.trim(), 40)].filter(Boolean).join(": ") ||
      "the other report";

export function Compare() {
  const viewer = useViewer();
  const { state, other } = viewer;
  // A file dropped anywhere in the page is compared with what the page shows.
  useEffect(() => acceptDrops(viewer), [viewer]);
  if (!state.choices.comparison.value && !other.value) return null;
  return <Comparison />;
}

async function open(viewer: Viewer, file: File) {
  try {
    const report = await openReport(file);
    if (report.document.input.kind === "generation")
      throw new Error("a generation cannot be compared with an explanation");
    viewer.other.value = report;
    viewer.announcement.value = `Compared with ${file.name}`;
    viewer.problem.value = "";
  } catch (error) {
    viewer.problem.value = error instanceof Error ? error.message : String(error);
    viewer.announcement.value = viewer.problem.value;
  }
}

function acceptDrops(viewer: Viewer): () => void {
  const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  const onDragOver = (event: DragEvent) => {
    if (!holdsFile(event) || event.defaultPrevented) return;
    event.preventDefault();
  };
  const onDrop = (event: DragEvent) => {
    if (!holdsFile(event) || event.defaultPrevented) return;
    event.preventDefault();
    const file = [...(event.dataTransfer?.files ?? [])].find(({ name }) => /\.(json|html?)$/i.test(name));
    if (!file) return;
    viewer.state.choices.comparison.value ??= {
      ...compareWith(viewer),
      method: viewer.state.choices.method.value,
      shares: false,
    };
    void open(viewer, file);
  };
  document.addEventListener("dragover", onDragOver);
  document.addEventListener("drop", onDrop);
  return () => {
    document.removeEventListener("dragover", onDragOver);
    document.removeEventListener("drop", onDrop);
  };
}

/** What two recipes, of which each made one side, do not share; "" when they are the same. */
export function recipesApart(first: Recipe, second: Recipe): string {
  const parts: [string, string | number, string | number][] = [
    ["residual", first.residual, second.residual],
    ["heads", first.heads, second.heads],
    ["down to layer", first.toLayer, second.toLayer],
    ["set aside", first.setAside, second.setAside],
    ["discard", first.discard, second.discard],
    ["normalise", first.normalize, second.normalize],
  ];
  return parts
    .filter(([, a, b]) => a !== b)
    .map(([name, a, b]) => `${name} ${a} and ${b}`)
    .join(", ");
}

function Comparison() {
  const viewer = useViewer();
  const { report, state, explanation, other } = viewer;
  const { choices, counts } = state;
  const second = other.value ?? report;
  const chosen = choices.comparison.value ?? {
    method: choices.method.value,
    layer: choices.layer.value,
    shares: false,
  };
  const match = useMemo(() => alignTokens(report, second), [report, second]);
  const theirs = useMemo(
    () =>
      second === report
        ? null
        : new Explanation(second, {
            toLayer: second.settings.to_layer,
            heads: second.settings.heads,
            residual: second.settings.residual,
            setAside: second.settings.set_aside,
            discard: second.settings.discard,
            normalize: second.settings.normalize,
          }),
    [report, second],
  );
  const { method, layer, token, skipSpecial } = choices;
  const ours = sideOf(explanation.value, method.value, layer.value, token.value, chosen.shares, counts.value);
  let others: Side;
  if (theirs) {
    const at = nearest(second.layers, chosen.layer);
    const matched = match[token.value];
    const there = matched >= 0 && theirs.row(chosen.method, at, matched) !== null;
    const position = there ? matched : (second.document.output_token ?? 0);
    others = sideOf(theirs, chosen.method, at, position, chosen.shares, countsOf(second, skipSpecial.value));
  } else {
    others = sideOf(explanation.value, chosen.method, chosen.layer, token.value, chosen.shares, counts.value);
  }
  const unlike = theirs ? recipesApart(explanation.value.recipe, theirs.recipe) : "";
  return <Sides sides={[ours, others]} match={match} chosen={chosen} unlike={unlike} />;
}

function Sides({
  sides,
  match,
  chosen,
  unlike,
}: {
  sides: [Side, Side];
  match: Int32Array;
  chosen: NonNullable<ReturnType<typeof compareWith>>;
  /** how the two were made differently */
  unlike: string;
}) {
  const viewer = useViewer();
  const { report, state, scale, differenceScale, other, problem } = viewer;
  const { choices, counts } = state;
  const [a, b] = sides;
  const [first, second] = [a.row(a.layer), b.row(b.layer)];
  const apart = first && second ? difference(first, second, match) : null;
  const max = [first ? largest(first, a.counts) : 0, second ? largest(second, b.counts) : 0];
  // One scale where the two mean the same, so that colours can be compared across.
  const common = a.method === b.method || chosen.shares;
  const [maxA, maxB] = common ? [Math.max(...max), Math.max(...max)] : max;
  const magnitudes = apart?.map((value) => Math.abs(value)) ?? new Float64Array();
  const most = largest(magnitudes, counts.value);
  const file = useRef<HTMLInputElement>(null);
  const over = useSignal(false);
  const change = (what: Partial<typeof chosen>) => (choices.comparison.value = { ...chosen, ...what });
  const titles = [a, b].map((side) => `${side.method}, layer ${side.layer}`);
  const exporter = {
    svg: () => pictureOf("compare"),
    rows: () => ({
      columns: ["input_token", "token", "first", "other_input_token", "other_token", "second", "second_minus_first"],
      rows: report.tokens.map(({ index, label }) => {
        const j = match[index];
        return [
          index,
          label,
          first?.[index] ?? null,
          j < 0 ? null : j,
          j < 0 ? null : b.report.tokens[j].label,
          j < 0 ? null : (second?.[j] ?? null),
          apart?.[index] ?? null,
        ];
      }),
    }),
  };
  const layers = b.report === report ? report.layers : b.report.layers;
  const image = report.document.input.kind === "image" && b.report.document.input.kind === "image";
  return (
    <Card
      id="compare"
      title="Compare"
      wide
      exporter={exporter}
      tools={
        <button
          type="button"
          class="quiet icon"
          id="compare-close"
          aria-label="Stop comparing"
          onClick={() => {
            choices.comparison.value = null;
            other.value = null;
            document.getElementById("compare-button")?.focus();
          }}
        >
          <span aria-hidden="true">×</span>
        </button>
      }
    >
      <div
        class={over.value ? "compare-bar over" : "compare-bar"}
        onDragEnter={() => (over.value = true)}
        onDragLeave={(event) => (over.value = event.currentTarget.contains(event.relatedTarget as Node))}
        onDrop={() => (over.value = false)}
      >
        <span>{titles[0]} of this report, with </span>
        <label class="check">
          <span class="visually-hidden">Other method</span>
          <select
            id="compare-method"
            value={b.method}
            onChange={(event) => {
              const name = event.currentTarget.value as Method;
              change({ method: name, shares: (name === "flow") !== (a.method === "flow") });
            }}
          >
            {METHODS.filter((name) => b.report.methods.includes(name)).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="check">
          layer
          <select
            id="compare-layer"
            value={b.layer}
            onChange={(event) => change({ layer: Number(event.currentTarget.value) })}
          >
            {layers.map((layer) => (
              <option key={layer} value={layer}>
                {layer}
              </option>
            ))}
          </select>
        </label>
        <span>of</span>
        <span class="strong-name">
          <Own text={nameOf(viewer, b.report)} most={60} />
        </span>
        {b.report !== report && (
          <button type="button" id="compare-drop" onClick={() => (other.value = null)}>
            Back to this report
          </button>
        )}
        <button type="button" id="compare-open" onClick={() => file.current?.click()}>
          Open a report…
        </button>
        <input
          ref={file}
          id="compare-file"
          type="file"
          accept=".json,.html,application/json,text/html"
          class="visually-hidden"
          tabIndex={-1}
          aria-label="A report to compare with"
          onChange={(event) => {
            const chosenFile = event.currentTarget.files?.[0];
            event.currentTarget.value = "";
            if (chosenFile) void open(viewer, chosenFile);
          }}
        />
        <label class="check">
          <input
            id="compare-shares"
            type="checkbox"
            checked={chosen.shares}
            onChange={(event) => change({ shares: event.currentTarget.checked })}
          />
          Each divided by its sum
        </label>
      </div>
      {problem.value && (
        <p class="problem" role="alert" id="compare-problem">
          {problem.value}
        </p>
      )}
      {unlike && (
        <p class="help" id="compare-unlike">
          The two were made differently, which is part of the difference: {unlike}.
        </p>
      )}
      <div id="compare" class="compare">
        <Half
          name="first"
          title={titles[0]}
          side={a}
          values={first}
          image={image}
          max={maxA}
          colour={(value) => scale.value.css(value, maxA)}
          ink={(value) => scale.value.ink(value, maxA)}
          back={null}
        />
        <Half
          name="second"
          title={titles[1]}
          side={b}
          values={second}
          image={image}
          max={maxB}
          colour={(value) => scale.value.css(value, maxB)}
          ink={(value) => scale.value.ink(value, maxB)}
          back={match}
        />
        <Half
          name="difference"
          title="Second minus first"
          side={a}
          values={apart}
          image={image}
          max={most}
          colour={(value) => differenceScale.value.css(value, most)}
          ink={(value) => differenceScale.value.ink(value, most)}
          back={null}
          diverging
        />
      </div>
      <CompareReadout first={first} second={second} apart={apart} match={match} other={b.report} />
      {(a.method !== b.method || b.report !== report) && a.report.layers.length > 1 && (
        <LayerMaps sides={sides} match={match} common={common} />
      )}
      {b.report !== report && (
        <div class="compare predictions-pair">
          <div>
            <h3>This report's prediction</h3>
            <Predictions report={report} />
          </div>
          <div>
            <h3>The other's</h3>
            <Predictions report={b.report} />
          </div>
        </div>
      )}
      <p class="help">
        Orange: the second draws less on it; blue: more.
        {match.some((j) => j < 0) && " Hatched tokens have no counterpart in the other report."}
      </p>
    </Card>
  );
}

interface HalfProps {
  name: string;
  title: string;
  side: Side;
  values: Float64Array | null;
  image: boolean;
  max: number;
  colour(value: number): string;
  ink(value: number): string;
  /** positions of the first report's tokens in this one's; null: it is the first */
  back: Int32Array | null;
  diverging?: boolean;
}

function Half({ name, title, side, values, image, max, colour, ink, back, diverging = false }: HalfProps) {
  const { state, scale, differenceScale } = useViewer();
  const { report, counts } = side;
  const box = useRef<HTMLDivElement>(null);
  const parts = useMemo(() => report.stripParts(), [report]);
  const inverse = useMemo(() => (back ? new Map([...back.entries()].map(([i, j]) => [j, i])) : null), [back]);
  const stops = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1];
  const ramp = stops.map((t) => (diverging ? differenceScale.value.css(2 * t - 1, 1) : scale.value.css(t, 1))).join();
  useSignalEffect(() => {
    const input = state.pointed.value?.input;
    const here = input === undefined ? undefined : back ? back[input] : input;
    for (const cell of box.current?.querySelectorAll(".pointed") ?? []) cell.classList.remove("pointed");
    if (here !== undefined && here >= 0) box.current?.querySelector(`[data-token="${here}"]`)?.classList.add("pointed");
  });
  const lines: preact.ComponentChildren[][] = [[]];
  if (!image) {
    for (const [k, part] of parts.entries()) {
      if ("line" in part) lines.push([]);
      else if ("gap" in part) lines.at(-1)?.push(part.gap);
      else {
        const { label, segment, begin, end } = report.tokens[part.token];
        const value = values?.[part.token] ?? NaN;
        const drawn = counts[part.token] && !Number.isNaN(value);
        lines.at(-1)?.push(
          <span
            key={k}
            class={`token${part.chip ? " chip special" : ""}${drawn || !values ? "" : " left-out"}`}
            data-token={part.token}
            data-value={Number.isNaN(value) ? undefined : value}
            dir={part.chip ? "auto" : undefined}
            style={drawn ? { background: colour(value), color: ink(value) } : undefined}
          >
            {part.chip ? label : report.slice(segment, begin, end)}
          </span>,
        );
      }
    }
  }
  return (
    <section
      class="half"
      data-side={name}
      aria-label={`${diverging ? "difference" : back ? "second" : "first"}: ${title}`}
    >
      <h3>{title}</h3>
      {image ? (
        <PatchMap side={side} values={values} colour={colour} />
      ) : (
        <div
          class="half-text"
          ref={box}
          onPointerOver={(event) => {
            const cell = (event.target as Element).closest("[data-token]");
            const here = cell ? Number(cell.getAttribute("data-token")) : null;
            const input = here === null ? undefined : inverse ? inverse.get(here) : here;
            state.pointed.value = input === undefined ? null : { input, view: "compare" };
          }}
          onPointerLeave={() => (state.pointed.value = null)}
        >
          {values ? (
            lines.map((line, k) => (
              <div class="line" dir="auto" lang="" key={k}>
                {line}
              </div>
            ))
          ) : (
            <p class="help">
              No {side.method} values for <TokenName {...report.tokens[side.token]} /> here.
            </p>
          )}
        </div>
      )}
      {values && (
        <div class="legend">
          <span>{diverging ? `−${format(max)}` : "0"}</span>
          <span class="ramp" aria-hidden="true" style={{ background: `linear-gradient(to right, ${ramp})` }} />
          <span>{diverging ? `+${format(max)}` : format(max)}</span>
        </div>
      )}
    </section>
  );
}

/** Patches of a picture, in their places. */
function PatchMap({
  side,
  values,
  colour,
}: {
  side: Side;
  values: Float64Array | null;
  colour(value: number): string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { rows = 1, columns = 1, first_patch: first = 0 } = side.report.document.input.image ?? {};
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, columns, rows);
    for (let k = 0; values && k < rows * columns; ++k) {
      context.fillStyle = colour(values[first + k]);
      context.fillRect(k % columns, Math.floor(k / columns), 1, 1);
    }
  });
  return <canvas class="patch-map" ref={canvas} width={columns} height={rows} role="img" aria-label="patches" />;
}

function CompareReadout(props: {
  first: Float64Array | null;
  second: Float64Array | null;
  apart: Float64Array | null;
  match: Int32Array;
  other: Report;
}) {
  const { first, second, apart, match, other } = props;
  const viewer = useViewer();
  const { report, state } = viewer;
  const counts = state.counts.value;
  let input = state.pointed.value?.input ?? null;
  const pointed = input !== null;
  if (input === null && apart) {
    // Two documents of the same numbers may hold them in other digits.
    const errors = [report, other].map((one) => one.array(state.choices.method.value)?.error ?? 0);
    const precision = Math.max(2 ** -22, errors[0] + errors[1]);
    let most = 0;
    for (let i = 0; i < apart.length; ++i) {
      const by = Math.abs(apart[i]);
      if (counts[i] && by > most && by > precision * Math.abs(first?.[i] ?? 0)) [most, input] = [by, i];
    }
  }
  if (input === null || !first || !second || !apart || input >= report.n) {
    return (
      <p class="readout" id="compare-readout">
        {apart ? "The two are the same." : "One of the two has no values here."}
      </p>
    );
  }
  const value = apart[input];
  return (
    <p class="readout" id="compare-readout">
      {pointed ? "" : "They differ most on "}
      <TokenName {...viewer.name(input)} />: {format(first[input])} in the first,{" "}
      {match[input] < 0 ? "no counterpart in the second" : `${format(second[match[input]])} in the second, `}
      {match[input] >= 0 && <b data-value={value}>{`${value > 0 ? "+" : ""}${format(value)}`}</b>}
    </p>
  );
}

/** Layers by tokens of both, and of their difference. */
function LayerMaps({ sides, match, common }: { sides: [Side, Side]; match: Int32Array; common: boolean }) {
  const { scale, differenceScale } = useViewer();
  const [a, b] = sides;
  const layers = a.report.layers;
  const rowsA = layers.map((layer) => a.row(layer));
  const rowsB = b.report.layers.map((layer) => b.row(layer));
  const most = (rows: (Float64Array | null)[], counts: readonly boolean[]) =>
    Math.max(0, ...rows.map((row) => (row ? largest(row, counts) : 0)));
  const max = [most(rowsA, a.counts), most(rowsB, b.counts)];
  const [maxA, maxB] = common ? [Math.max(...max), Math.max(...max)] : max;
  const apart = layers.map((layer, k) => {
    const theirs = rowsB[b.report.layers.indexOf(layer)];
    const ours = rowsA[k];
    return ours && theirs ? difference(ours, theirs, match) : null;
  });
  const widest = most(
    apart.map((row) => row?.map(Math.abs) ?? null),
    a.counts,
  );
  return (
    <div class="compare">
      <LayerMap
        title={`${a.method}, every layer`}
        side={a}
        layers={layers}
        rows={rowsA}
        colour={(value) => scale.value.css(value, maxA)}
      />
      <LayerMap
        title={`${b.method}, every layer`}
        side={b}
        layers={b.report.layers}
        rows={rowsB}
        colour={(value) => scale.value.css(value, maxB)}
      />
      <LayerMap
        title={`Second minus first, up to ${format(widest)}`}
        side={a}
        layers={layers}
        rows={apart}
        colour={(value) => differenceScale.value.css(value, widest)}
      />
    </div>
  );
}

interface LayerMapProps {
  title: string;
  side: Side;
  layers: readonly number[];
  rows: (Float64Array | null)[];
  colour(value: number): string;
}

function LayerMap({ title, side, layers, rows, colour }: LayerMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const n = side.report.n;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, n, layers.length);
    rows.forEach((row, k) => {
      for (let i = 0; row && i < n; ++i) {
        if (!side.counts[i] || Number.isNaN(row[i])) continue;
        context.fillStyle = colour(row[i]);
        // The topmost layer stands at the top.
        context.fillRect(i, layers.length - 1 - k, 1, 1);
      }
    });
  });
  return (
    <figure class="layer-map">
      <figcaption>{title}</figcaption>
      <div>
        <span class="ends" aria-hidden="true">
          <span>{layers.at(-1)}</span>
          <span>{layers[0]}</span>
        </span>
        <canvas ref={canvas} width={n} height={layers.length} role="img" aria-label={`${title}: layers by tokens`} />
      </div>
    </figure>
  );
}
