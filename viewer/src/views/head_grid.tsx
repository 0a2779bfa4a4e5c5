// Raw attention of every head: layers by heads as thumbnails, one of them enlarged.
import { useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { TokenName } from "../components/own_text";
import { Tip } from "../components/tip";
import { unit } from "../components/measure";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { panels } from "../export/frame";
import { standalone } from "../export/picture";
import { percentage } from "../report/text";
import { Grid, useThumbnails } from "./head_thumbnails";
import { MatrixPicture } from "./matrix_picture";
import { blockOf, type Block } from "./matrix_raster";
import { useFound, useWidth } from "./picture";
import "../styles/pictures.css";

interface LargeProps {
  layer: number;
  head: number;
  width: number;
  outputs: readonly number[];
  svg: RefObject<SVGSVGElement>;
}

function Large({ layer, head, width, outputs, svg }: LargeProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts, pointed } = state;
  const marking = useSignal(true);
  const { found: block, busy } = useFound<Block>(
    () => blockOf(report, outputs, (query) => report.headRow(layer, head, query), counts.value),
    [report, layer, head, counts.value, outputs],
    report.n <= 512,
  );
  const here = pointed.value?.view === "head" ? pointed.value : null;
  const u = unit();
  return (
    <div>
      <h3 id="head-heading">
        Layer {layer}, head {head}
      </h3>
      <MatrixPicture
        id="head"
        svg={svg}
        outputs={outputs}
        block={block}
        busy={busy}
        layer={layer}
        marking={marking}
        // A new function each time: the picture is redrawn with what is pointed at before the tip is positioned.
        onChoose={(query) => (choices.token.value = query)}
        most={u * Math.max(420, Math.min(900, (width / u) * 0.4))}
      />
      <Tip view="head">
        {here && here.output !== undefined && (
          <>
            <TokenName {...viewer.name(here.output)} said /> ← <TokenName {...viewer.name(here.input)} said />:{" "}
            <b>{percentage(report.headRow(layer, head, here.output)?.[here.input] ?? 0)}</b> (head {head}, layer {layer}
            )
          </>
        )}
      </Tip>
      <div class="row foot">
        {block && <Legend ends={block.ends} of={`Layer ${layer}, head ${head}`} marked={marking.value} />}
      </div>
    </div>
  );
}

export function HeadGrid() {
  const { report, state } = useViewer();
  const { choices } = state;
  const box = useRef<HTMLDivElement>(null);
  const svgs = [useRef<SVGSVGElement>(null), useRef<SVGSVGElement>(null)];
  const width = useWidth(box);
  // A layer without values of its own can be shown, too.
  const own = useSignal<number | null>(null);
  const layer = own.value ?? choices.layer.value;
  const head = Math.min(choices.head.value, report.model.heads - 1);
  const outputs = useMemo(() => report.tokens.map((token) => token.index), [report]);
  const small = useThumbnails();
  if (!report.hasHeads) return null;
  const choose = (l: number, h: number) => {
    choices.head.value = h;
    const explained = report.layers.includes(l);
    own.value = explained ? null : l;
    if (explained) choices.layer.value = l;
  };
  const titles = ["Every head: rows are layers, columns heads", `Layer ${layer}, head ${head}`];
  const exporter: Exporter = {
    svg: () =>
      panels(svgs.flatMap(({ current }, k) => (current ? [{ title: titles[k], svg: standalone(current) }] : []))),
    shown: () => ({
      panel: `layer ${layer}, head ${head}`,
      method: "attention as the model computed it",
      output: "all, a row each",
      layers: null,
      recipe: false,
      notes: [
        `Small pictures show the largest weight of each square, ${choices.ownScale.value ? "each on its own scale" : "all on one scale"}.`,
      ],
      file: [`layer${layer}`, `head${head}`],
    }),
    rows: () => ({
      columns: ["layer", "head", "output_token", "input_token", "attention"],
      rows: (function* () {
        for (const query of outputs) {
          const row = report.headRow(layer, head, query);
          for (let k = 0; row && k < report.n; ++k) yield [layer, head, query, k, row[k]];
        }
      })(),
    }),
  };
  const kept = report.array("attention")?.kept;
  const explains = choices.heads.value === String(head);
  return (
    <Card id="heads" title="Attention of every head" wide exporter={exporter}>
      <div class="heads-box" ref={box}>
        <Grid layer={layer} head={head} choose={choose} width={width} svg={svgs[0]} small={small} />
        <Large layer={layer} head={head} width={width} outputs={outputs} svg={svgs[1]} />
      </div>
      <div class="row foot">
        <p class="help">
          Rows are queries, columns keys; small pictures show the largest weight of each square
          {choices.ownScale.value ? ", each head on its own scale" : ""}.
          {kept && " The document keeps only the strongest values of each row; the others are drawn as their mean."}
          {small.busy && " Drawing …"}
        </p>
        {report.mixing.needs === "attention" && (
          <button
            type="button"
            id="explain-with-head"
            title={explains ? undefined : "The layers below it keep the mean of the heads"}
            onClick={() => (choices.heads.value = explains ? report.settings.heads : String(head))}
          >
            {explains
              ? `Explain with heads as computed (${report.settings.heads})`
              : `Explain with head ${head} in each layer shown`}
          </button>
        )}
      </div>
    </Card>
  );
}
