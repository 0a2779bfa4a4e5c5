// Two explanations side by side, with their difference: two methods, two layers, or two reports.
import { useEffect, useMemo } from "preact/hooks";
import type { Ends } from "../color/ends";
import { Card } from "../components/card";
import { TokenName } from "../components/own_text";
import { Predictions } from "../components/predictions";
import { alignTokens, heldLayerBeside, spanText, type Span } from "../compute/align";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import type { Exporter } from "../export/exporter";
import { quoted } from "../export/name";
import { isScore } from "../report/document";
import type { Report } from "../report/report";
import type { Comparison as Chosen } from "../state";
import { acceptDrops, CompareBar, nameOf } from "./compare_bar";
import { differenceColours, endsOfSides, sideColours } from "./compare_colours";
import { mapTitle } from "./image_maps";
import {
  CompareReadout,
  difference,
  missingSides,
  missingValues,
  rankAgreement,
  rankWords,
  unlikeWords,
} from "./compare_difference";
import { Half, LayerMaps } from "./compare_maps";
import {
  depthWords,
  explanationOf,
  goneIn,
  inUnitsOf,
  otherSide,
  sideOf,
  SPAN_WORDS,
  type Side,
  targetsApart,
  targetTitle,
  unitsDiffer,
  withoutThem,
  withSpans,
} from "./compare_sides";
import "../styles/compare.css";

export function Compare() {
  const viewer = useViewer();
  const { state, other } = viewer;
  useEffect(() => acceptDrops(viewer), [viewer]);
  if (!state.choices.comparison.value && !other.value) return null;
  return <Comparison />;
}

const COLOURS = "Red: B is smaller than A; blue: larger.";

const predictionsOf = ({ document }: Report) => document.predictions ?? [];

/** Whether there are predictions to compare: two targets of one input have the same. */
const predictApart = (a: Report, b: Report, targets: string) =>
  predictionsOf(a).length + predictionsOf(b).length > 0 &&
  !(targets && JSON.stringify(predictionsOf(a)) === JSON.stringify(predictionsOf(b)));

/** Maps the output token to its counterpart: if there are several tokens, the last, which has read the others. */
function outputMatch(match: Int32Array, spans: readonly Span[], token: number): Int32Array {
  const last = spans.find(({ ours }) => ours.includes(token))?.theirs.at(-1);
  return last === undefined ? match : match.map((to, from) => (from === token ? last : to));
}

function useSides() {
  const viewer = useViewer();
  const { report, state, explanation, other } = viewer;
  const { choices, counts } = state;
  const opened = other.value;
  const second = useMemo(() => (opened ? inUnitsOf(report, opened) : report), [report, opened]);
  const chosen: NonNullable<Chosen> = choices.comparison.value ?? {
    method: choices.method.value,
    layer: heldLayerBeside(report, second, choices.layer.value),
    shares: false,
  };
  const { match, spans } = useMemo(() => alignTokens(report, second), [report, second]);
  const theirs = useMemo(() => (second === report ? null : explanationOf(second)), [report, second]);
  const mixed = useMemo(() => second !== report && unitsDiffer(report, second), [report, second]);
  const token = choices.token.value;
  const ours = sideOf(explanation.value, {
    method: choices.method.value,
    layer: choices.layer.value,
    token,
    shares: chosen.shares,
    counts: counts.value,
  });
  const others = theirs
    ? otherSide(theirs, outputMatch(match, spans, token), token, chosen, choices.skipSpecial.value)
    : sideOf(explanation.value, { ...chosen, token: chosen.token ?? token, counts: counts.value });
  const apart = theirs ? [unlikeWords(explanation.value.recipe, theirs.recipe)] : [];
  if (theirs && second.mixing !== report.mixing) apart.push(`mixing ${report.mixing.name} and ${second.mixing.name}`);
  if (mixed)
    apart.push(
      report.ofWords
        ? "tokens whole words and pieces"
        : "tokens pieces and whole words (“Whole words” merges this report's)",
    );
  const sides = withSpans([ours, others], spans);
  const gone = opened && viewer.gone.value?.report === opened ? viewer.gone.value : null;
  return {
    sides,
    match,
    spans,
    chosen,
    /** the settings in which the two differ */
    unlike: apart.filter(Boolean).join(", "),
    /** tokens of the second side that were blanked */
    gone: gone && goneIn(second, gone),
    /** "without “key”": the second side's description if it is this text with tokens blanked; otherwise "" */
    without: gone ? withoutThem(viewer.pieces.report, gone.tokens) : "",
  };
}

function useComparison() {
  const viewer = useViewer();
  const compared = useSides();
  const { sides, match, spans, chosen, without } = compared;
  const [a, b] = sides;
  const [first, second] = [a.row(a.layer), b.row(b.layer)];
  const repeats = new Set(spans.flatMap(({ ours }) => ours.slice(1)));
  // Whether the values of the two mean the same.
  const alike = a.method === b.method && a.report.mixing === b.report.mixing;
  const [signedA, signedB] = sides.map(({ method }) => isScore(method));
  const foreign = b.report !== viewer.report;
  const another = !foreign && a.token !== b.token;
  const targets = foreign ? targetsApart(sides) : "";
  const [titleA, titleB] = sides.map(
    (side) =>
      (targets ? targetTitle(side) : "") +
      mapTitle(side.method, side.layer) +
      (another ? `, output token ${viewer.plainName(side.token)}` : ""),
  );
  return {
    ...compared,
    first,
    second,
    apart: first && second ? difference(first, second, match) : null,
    ranks: first && second ? rankAgreement(sides, first, second, match, repeats) : null,
    /** they have one scale */
    common: (alike || chosen.shares || signedA) && signedA === signedB,
    foreign,
    targets,
    units: [foreign ? depthWords(sides) : "", spans.length > 0 ? SPAN_WORDS : ""].filter(Boolean),
    titles: [titleA, [titleB, without].filter(Boolean).join(", ")],
    /** both sides, for captions */
    method: `${titleA}, and ${titleB}${without ? ` ${without}` : foreign ? ` of ${quoted(nameOf(b.report))}` : ""}`,
    unmatched: match.some((j) => j < 0) ? "Hatched tokens have no counterpart in the other report." : "",
  };
}

type Compared = ReturnType<typeof useComparison>;

function exporterOf({ sides, match, spans, chosen, first, second, apart, ...said }: Compared): Exporter {
  const [a, b] = sides;
  const otherLabel = (index: number, j: number) => {
    const span = spans.find(({ ours }) => ours.includes(index));
    return span ? spanText(b.report, span.theirs) : b.report.tokens[j].label;
  };
  return {
    svg: () => pictureOf("compare"),
    shown: () => ({
      title: "Compared",
      method: said.method,
      layers: null,
      notes: [
        COLOURS,
        chosen.shares ? "Each side is normalized to sum to 1 over the tokens that are not excluded." : "",
        said.ranks ? rankWords(said.ranks) : "",
        said.unmatched,
        said.targets,
        ...said.units,
        said.unlike && `A and B use different settings: ${said.unlike}.`,
      ].filter(Boolean),
      file: [
        a.method,
        `layer${a.layer}`,
        "and",
        b.method,
        `layer${b.layer}`,
        ...[...new Set([a.token, b.token])].map((token) => `token${token}`),
      ],
    }),
    rows: () => ({
      columns: ["input_token", "token", "first", "other_input_token", "other_token", "second", "second_minus_first"],
      rows: a.report.tokens.map(({ index, label }) => {
        const j = match[index];
        return [
          index,
          label,
          first?.[index] ?? null,
          j < 0 ? null : j,
          j < 0 ? null : otherLabel(index, j),
          j < 0 ? null : (second?.[j] ?? null),
          apart?.[index] ?? null,
        ];
      }),
    }),
  };
}

function Comparison() {
  const compared = useComparison();
  const { sides, titles, chosen, foreign, without, ranks, unmatched, targets } = compared;
  const [a, b] = sides;
  const { report } = a;
  return (
    <Card id="compare" title="Compare" wide open exporter={exporterOf(compared)} tools={<StopComparing />}>
      <CompareBar title={titles[0]} sides={sides} chosen={chosen} foreign={foreign} without={without} />
      <Cautions {...compared} />
      <Halves {...compared} />
      {ranks && (
        <p class="readout" id="compare-ranks" title="1: the same order, 0: no relation, −1: the reverse">
          {rankWords(ranks)}
        </p>
      )}
      <CompareReadout {...compared} />
      {!sides.some(({ method }) => isScore(method)) &&
        (a.method !== b.method || a.token !== b.token || foreign) &&
        report.layers.length > 1 && <LayerMaps {...compared} />}
      {foreign && predictApart(report, b.report, targets) && (
        <div class="compare predictions-pair">
          <Predictions report={report} heading="Prediction (A)" />
          <Predictions
            report={b.report}
            heading={without ? `Prediction ${without}` : "Prediction (B)"}
            beside={report}
          />
        </div>
      )}
      <p class="help key">
        {COLOURS}
        {unmatched && ` ${unmatched}`}
      </p>
    </Card>
  );
}

function StopComparing() {
  const { state, other } = useViewer();
  const close = () => {
    state.choices.comparison.value = null;
    other.value = null;
    document.getElementById("compare-button")?.focus();
  };
  return (
    <button type="button" class="quiet icon" id="compare-close" aria-label="Stop comparing" onClick={close}>
      <span aria-hidden="true">×</span>
    </button>
  );
}

/** Says where the two sides are not alike. */
function Cautions({ sides: [, b], match, targets, units, unlike }: Compared) {
  const viewer = useViewer();
  const { problem } = viewer;
  return (
    <>
      {problem.value && (
        <p class="problem" role="alert" id="compare-problem">
          {problem.value}
        </p>
      )}
      {targets && (
        <p class="strong" id="compare-targets">
          {targets}
        </p>
      )}
      {units.length > 0 && (
        <p class="help key" id="compare-units">
          {units.join(" ")}
        </p>
      )}
      {unlike && (
        <p class="help key" id="compare-unlike">
          A and B use different settings, so part of the difference comes from that: {unlike}.
        </p>
      )}
      {b.instead !== null && (
        <p class="help" id="compare-instead">
          The other report {match[b.instead] < 0 ? "has no counterpart of" : `holds no ${b.method} for`}{" "}
          <TokenName {...viewer.name(b.instead)} said />, so B explains <TokenName {...b.report.nameOf(b.token)} said />
          .
        </p>
      )}
    </>
  );
}

function Halves({ sides, match, first, second, apart, common, titles, gone }: Compared) {
  const viewer = useViewer();
  const [a, b] = sides;
  const [endsA, endsB] = endsOfSides(sides, [[first], [second]], common);
  const image = sides.every(({ report }) => report.document.input.kind === "image");
  const missing = `No difference: ${missingSides(sides)}.`;
  const halfOf = (side: Side, values: Float64Array | null, ends: Ends) => ({
    ...{ side, values, image, missing: missingValues(side) },
    colours: sideColours(viewer.shades(ends, side.method), ends),
  });
  const difference = { side: a, values: apart, image, missing };
  return (
    <div id="compare" class="compare">
      <Half name="first" title={`A: ${titles[0]}`} {...halfOf(a, first, endsA)} />
      <Half name="second" title={`B: ${titles[1]}`} {...halfOf(b, second, endsB)} gone={gone} back={match} />
      <Half
        name="difference"
        title="B − A"
        {...difference}
        colours={differenceColours(viewer, sides, match, [apart])}
      />
    </div>
  );
}
