// A card with a picture of cells: columns are the report's tokens, rows are layers or output tokens.
import { computed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Ends } from "../color/ends";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { Readout } from "../components/readout";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import type { CellPictureProps } from "./cell_layout";
import { CellPicture } from "./cell_picture";

type Own = "columns" | "seen" | "divider" | "marking" | "pointed" | "onPoint" | "describedby" | "ends";

interface CellCardProps extends Omit<CellPictureProps, Own> {
  title: string;
  places: readonly { layer?: number; output?: number }[];
  /** ends of the scale of all rows, or what the legend says for several */
  ends: Ends;
  /** ends of each row's own scale, and what a row is */
  own?: { ends: readonly Ends[]; each: string } | null;
  exporter: Exporter;
  tools?: ComponentChildren;
  /** what it shows, and what a click does */
  children: ComponentChildren;
}

export function CellCard(props: CellCardProps) {
  const { id, title, rows, values, places, ends, own, exporter, tools, children, ...picture } = props;
  const { report, state, output } = useViewer();
  const { pointed } = state;
  const reasons = state.reasons.value;
  const marking = useSignal(true);
  const count = Math.max(report.m, ...values.map((row) => row?.length ?? 0));
  const columns = useMemo(
    () => report.tokens.slice(0, count).map((label, j) => ({ label, excluded: reasons[j] !== "" })),
    [report, reasons, count],
  );
  const all = useMemo(() => own?.ends ?? rows.map(() => ends), [own?.ends, rows.length, ends]);
  /** What is pointed at: its column, and its row if that is in this picture. */
  const here = useMemo(
    () =>
      computed(() => {
        const at = pointed.value;
        if (!at) return null;
        const isOf = ({ layer = at.layer, output: of = at.output }) => layer === at.layer && of === at.output;
        const row = at.view === id ? places.findIndex(isOf) : -1;
        return { row: row < 0 ? null : row, column: at.input };
      }),
    [pointed, places],
  );
  const any = values.some(Boolean);
  const svg = () => document.querySelector<SVGSVGElement>(`#${id}-cells svg`) ?? "";
  return (
    <Card id={id} title={title} wide exporter={any ? { svg, ...exporter } : undefined}>
      {any && (
        <CellPicture
          {...{ id, rows, values, columns, marking, ...picture }}
          ends={all}
          // In a generation, tokens after an output token could not be drawn on.
          seen={report.document.generation && ((row) => (places[row].output ?? output) + 1)}
          divider={count > report.m ? report.m : undefined}
          pointed={here}
          onPoint={(cell) => (pointed.value = cell && { input: cell.column, view: id, output, ...places[cell.row] })}
          describedby={`${id}-readout`}
        />
      )}
      <Readout view={id} status={report.document.generation !== undefined} />
      <div class="row foot">
        {any && <Legend ends={ends} each={own?.each} marked={marking.value} />}
        {tools}
        <p class="help">{children}</p>
      </div>
    </Card>
  );
}
