// Beside a picture: how the probability of its class falls while patches are removed in the best map's order, and how it
// rises while they come back.
import { useRef } from "preact/hooks";
import { Card } from "../components/card";
import { Info } from "../components/guide";
import { useViewer } from "../context";
import type { Curve } from "../report/document";
import { areaUnder } from "../report/curve";
import { percent } from "../report/text";

const [WIDTH, HEIGHT] = [300, 220];
const BOX = { left: 46, right: 20, top: 12, bottom: 40 };
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const x = (share: number) => BOX.left + share * (WIDTH - BOX.left - BOX.right);
const y = (probability: number) => HEIGHT - BOX.bottom - probability * (HEIGHT - BOX.top - BOX.bottom);

/** The lines differ in their dashes and marks, too, not by color alone. */
const LINES = [
  { name: "insertion", means: "only this share is there" },
  { name: "deletion", means: "this share is removed" },
] as const;
type LineName = (typeof LINES)[number]["name"];

function Mark({ name, at: [h, v] }: { name: LineName; at: [number, number] }) {
  return name === "insertion" ? <circle cx={h} cy={v} r={3} /> : <rect x={h - 3} y={v - 3} width={6} height={6} />;
}

function Axes({ of }: { of: string }) {
  return (
    <g class="axes">
      {TICKS.map((share) => (
        <g key={share}>
          <line x1={x(0)} x2={x(1)} y1={y(share)} y2={y(share)} />
          <text x={x(0) - 6} y={y(share)} text-anchor="end" dominant-baseline="central">
            {percent(share)}
          </text>
          <text x={x(share)} y={y(0) + 14} text-anchor="middle">
            {percent(share)}
          </text>
        </g>
      ))}
      <text x={x(0.5)} y={HEIGHT - 6} text-anchor="middle">
        share of the patches
      </text>
      <text transform={`translate(10 ${y(0.5)}) rotate(-90)`} text-anchor="middle">
        {of}
      </text>
    </g>
  );
}

function Line({ curve, name }: { curve: Curve; name: LineName }) {
  const points = curve.steps.map((share, k): [number, number] => [x(share), y(curve[name][k])]);
  return (
    <g class={`line ${name}`}>
      <polyline points={points.map((at) => at.join(",")).join(" ")} />
      {points.map((at, k) => (
        <g key={k} data-share={curve.steps[k]} data-value={curve[name][k]}>
          <title>{`${name}, ${percent(curve.steps[k])} of the patches: ${percent(curve[name][k])}`}</title>
          <Mark name={name} at={at} />
        </g>
      ))}
    </g>
  );
}

export function CurveCard() {
  const { report } = useViewer();
  const picture = useRef<SVGSVGElement>(null);
  const { curve, target, predictions = [] } = report.document;
  if (!curve) return null;
  const of = `probability of ${target?.label ?? predictions[0]?.choices[0]?.label ?? "the class"}`;
  const area = (name: LineName) => areaUnder(curve.steps, curve[name]).toFixed(2);
  const summary = `Areas under the lines: insertion ${area("insertion")}, deletion ${area("deletion")}.`;
  const exporter = {
    svg: () => picture.current ?? "",
    shown: () => ({ method: curve.order, output: null, filters: false, notes: [summary], file: [curve.order] }),
    rows: () => ({
      columns: ["share", "insertion", "deletion"],
      rows: curve.steps.map((share, k) => [share, curve.insertion[k], curve.deletion[k]]),
    }),
  };
  return (
    <Card
      id="curve"
      title={`In the order of ${curve.order}`}
      open
      tools={<Info about="insertion and deletion" place="trust" />}
      exporter={exporter}
    >
      <svg
        ref={picture}
        id="curve"
        role="img"
        aria-label={`The ${of}, by share of the patches. ${summary}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      >
        <Axes of={of} />
        {LINES.map(({ name }) => (
          <Line key={name} curve={curve} name={name} />
        ))}
      </svg>
      <ul class="legend marks-legend">
        {LINES.map(({ name, means }) => (
          <li key={name}>
            <svg class="curve-key" viewBox="0 0 34 12" width={34} height={12} aria-hidden="true">
              <g class={`line ${name}`}>
                <line x1={1} x2={33} y1={6} y2={6} />
                <Mark name={name} at={[17, 6]} />
              </g>
            </svg>
            <span>
              <b>{name}</b>: {means} (area {area(name)})
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
