// The comparison's bar, which chooses its sides, and reports opened from files.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { CheckBox, inOtherForm } from "../components/check_box";
import { Select, tokenOptions } from "../components/fields";
import { FileButton } from "../components/file_button";
import { Own } from "../components/own_text";
import { heldLayerBeside } from "../compute/align";
import { useViewer, type Viewer } from "../context";
import { listen } from "../listen";
import { isScore, METHODS } from "../report/document";
import { openReport } from "../report/open_file";
import type { Report } from "../report/report";
import { shorten } from "../report/text";
import { compareWith, sumsDiffer } from "../shortcuts";
import type { Comparison } from "../state";
import type { Side } from "./compare_sides";

export const nameOf = (report: Report) =>
  [report.model.name, shorten(report.document.input.text.trim(), 40)].filter(Boolean).join(": ") || "the other report";

async function open(viewer: Viewer, file: File) {
  try {
    const report = await openReport(file);
    if (report.document.input.kind === "generation")
      throw new Error("a generation cannot be compared with an explanation");
    const { comparison, layer } = viewer.state.choices;
    if (comparison.value) {
      comparison.value = { ...comparison.value, layer: heldLayerBeside(viewer.report, report, layer.value) };
    }
    viewer.other.value = report;
    viewer.announcement.value = `Compared with ${file.name}`;
    viewer.problem.value = "";
  } catch (error) {
    viewer.problem.value = error instanceof Error ? error.message : String(error);
    viewer.announcement.value = viewer.problem.value;
  }
}

/** Compares a file dropped anywhere in the page with what the page shows; returns a stop function. */
export function acceptDrops(viewer: Viewer): () => void {
  const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  const dragover = (event: DragEvent) => {
    if (!holdsFile(event) || event.defaultPrevented) return;
    event.preventDefault();
  };
  const drop = (event: DragEvent) => {
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
  return listen({ dragover, drop });
}

interface BarProps {
  title: string;
  sides: [Side, Side];
  chosen: NonNullable<Comparison>;
  /** belongs to another report */
  foreign: boolean;
  /** "without “key”": for another report of this text */
  without: string;
}

export function CompareBar({ title, sides: [a, b], chosen, foreign, without }: BarProps) {
  const viewer = useViewer();
  const { report, other } = viewer;
  const { comparison } = viewer.state.choices;
  const over = useSignal(false);
  const tokens = useMemo(() => tokenOptions(report.tokens, report.pictured), [report]);
  const change = (what: Partial<typeof chosen>) => (comparison.value = { ...chosen, ...what });
  return (
    <div
      class={over.value ? "row compare-bar over" : "row compare-bar"}
      onDragEnter={() => (over.value = true)}
      onDragLeave={(event) => (over.value = event.currentTarget.contains(event.relatedTarget as Node))}
      onDrop={() => (over.value = false)}
    >
      <span>{title} of this report, with </span>
      <label class="check">
        <span class="visually-hidden">Other method</span>
        <Select
          id="compare-method"
          value={b.method}
          options={METHODS.filter((name) => !isScore(name) || b.has(name)).map((name) => [
            name,
            b.has(name) ? name : `${name}: not in B`,
          ])}
          lacks={(name) => !b.has(name) && name !== b.method}
          choose={(name) => change({ method: name, shares: sumsDiffer(name, a.method) })}
        />
      </label>
      <label class="check">
        layer
        <Select
          id="compare-layer"
          value={b.layer}
          options={b.report.layers.map((layer) => [layer])}
          choose={(layer) => change({ layer })}
        />
      </label>
      {!foreign && !isScore(a.method) && (
        <label class="check">
          output token
          <Select
            id="compare-token"
            own
            value={b.token}
            options={tokens}
            choose={(token) => change({ token: token === a.token ? undefined : token })}
          />
        </label>
      )}
      <span>of</span>
      <span class="strong-name">
        <Own text={without ? `this text ${without}` : foreign ? nameOf(b.report) : "this report"} most={120} />
      </span>
      {foreign && (
        <button type="button" id="compare-drop" onClick={() => (other.value = null)}>
          Remove B
        </button>
      )}
      <FileButton
        id="compare"
        label="Open a report…"
        accept=".json,.html,application/json,text/html"
        name="A report to compare with"
        take={(chosenFile) => void open(viewer, chosenFile)}
      />
      <CheckBox id="compare-shares" class="check" on={inOtherForm(chosen.shares, (shares) => change({ shares }))}>
        Normalize visible tokens to sum to 1
      </CheckBox>
    </div>
  );
}
