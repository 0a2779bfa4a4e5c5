// Two explanations side by side, with their difference: two methods, two layers, or two reports.
import { useEffect, useMemo } from "preact/hooks";
import { Card } from "../components/card";
import { TokenName } from "../components/own_text";
import { Predictions } from "../components/predictions";
import { alignTokens, heldLayerBeside, spanText, type Span } from "../compute/align";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { quoted } from "../export/name";
import { isScore } from "../report/document";
import type { Report } from "../report/report";
import type { Comparison as Chosen } from "../state";
import { acceptDrops, CompareBar, nameOf } from "./compare_bar";
import { differenceColours, endsOfSides, sideColours } from "./compare_colours";
import { mapTitle } from "./image_overlay";
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
  targetsApart,
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

const says = ({ document }: Report) => (document.predictions ?? []).length > 0;

/** Maps the output token to its counterpart: if there are several tokens, the last, which has read the others. */
function outputMatch(match: Int32Array, spans: readonly Span[], token: number): Int32Array {
  const last = spans.find(({ ours }) => ours.includes(token))?.theirs.at(-1);
  return last === undefined ? match : match.map((to, from) => (from === token ? last : to));
}

/** The two sides of the comparison. */
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

function Comparison() {
  const viewer = useViewer();
  const { sides, match, spans, chosen, unlike, gone, without } = useSides();
  const { report, state, other, problem } = viewer;
  const { choices } = state;
  const [a, b] = sides;
  const [first, second] = [a.row(a.layer), b.row(b.layer)];
  const apart = first && second ? difference(first, second, match) : null;
  const repeats = new Set(spans.flatMap(({ ours }) => ours.slice(1)));
  const ranks = first && second ? rankAgreement(sides, first, second, match, repeats) : null;
  // Whether the values of the two mean the same.
  const signs = [a, b].map(({ method }) => isScore(method));
  const alike = a.method === b.method && a.report.mixing === b.report.mixing;
  const common = (alike || chosen.shares || signs[0]) && signs[0] === signs[1];
  const [endsA, endsB] = endsOfSides(sides, [[first], [second]], common);
  const foreign = b.report !== report;
  const targets = foreign ? targetsApart(sides) : "";
  const depths = foreign ? depthWords(sides) : "";
  const another = !foreign && a.token !== b.token;
  const titles = [a, b].map(
    (side) => mapTitle(side.method, side.layer) + (another ? `, output token ${viewer.plainName(side.token)}` : ""),
  );
  const secondTitle = [titles[1], without].filter(Boolean).join(", ");
  const otherLabel = (index: number, j: number) => {
    const span = spans.find(({ ours }) => ours.includes(index));
    return span ? spanText(b.report, span.theirs) : b.report.tokens[j].label;
  };
  const exporter = {
    svg: () => pictureOf("compare"),
    shown: () => ({
      title: "Compared",
      method: `${titles[0]}, and ${titles[1]}${without ? ` ${without}` : foreign ? ` of ${quoted(nameOf(b.report))}` : ""}`,
      layers: null,
      notes: [
        "Red: B is smaller than A; blue: larger.",
        ...(chosen.shares ? ["Each side is normalized to sum to 1 over the tokens that are not excluded."] : []),
        ...(ranks ? [rankWords(ranks)] : []),
        ...(match.some((j) => j < 0) ? ["Hatched tokens have no counterpart in the other report."] : []),
        ...[targets, depths, spans.length > 0 ? SPAN_WORDS : ""].filter(Boolean),
        ...(unlike ? [`A and B use different settings: ${unlike}.`] : []),
      ],
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
      rows: report.tokens.map(({ index, label }) => {
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
  const image = report.document.input.kind === "image" && b.report.document.input.kind === "image";
  const close = (
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
  );
  return (
    <Card id="compare" title="Compare" wide exporter={exporter} tools={close}>
      <CompareBar title={titles[0]} sides={sides} chosen={chosen} foreign={foreign} without={without} />
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
      {(depths || spans.length > 0) && (
        <p class="help key" id="compare-units">
          {[depths, spans.length > 0 ? SPAN_WORDS : ""].filter(Boolean).join(" ")}
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
      <div id="compare" class="compare">
        <Half
          name="first"
          title={titles[0]}
          side={a}
          values={first}
          missing={missingValues(a)}
          image={image}
          colours={sideColours(viewer.shades(endsA, a.method), endsA)}
          back={null}
        />
        <Half
          name="second"
          title={secondTitle}
          gone={gone}
          side={b}
          values={second}
          missing={missingValues(b)}
          image={image}
          colours={sideColours(viewer.shades(endsB, b.method), endsB)}
          back={match}
        />
        <Half
          name="difference"
          title="B − A"
          side={a}
          values={apart}
          missing={`No difference: ${missingSides(sides)}.`}
          image={image}
          colours={differenceColours(viewer, sides, match, [apart])}
          back={null}
        />
      </div>
      {ranks && (
        <p class="readout" id="compare-ranks" title="1: the same order, 0: no relation, −1: the reverse">
          {rankWords(ranks)}
        </p>
      )}
      <CompareReadout sides={sides} first={first} second={second} apart={apart} match={match} spans={spans} />
      {!signs[0] &&
        !signs[1] &&
        (a.method !== b.method || a.token !== b.token || foreign) &&
        report.layers.length > 1 && <LayerMaps sides={sides} match={match} common={common} />}
      {foreign && (says(report) || says(b.report)) && (
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
        Red: B is smaller than A; blue: larger.
        {match.some((j) => j < 0) && " Hatched tokens have no counterpart in the other report."}
      </p>
    </Card>
  );
}
