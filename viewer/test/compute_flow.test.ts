// Flow that a page without a server computes by itself.
import { expect, test, vi } from "vitest";
import { computeFlow } from "../src/compute_flow";
import { Viewer } from "../src/context";
import { Report } from "../src/report/report";
import text from "./fixtures/text.json?raw";

const open = async () => new Viewer(await Report.read(JSON.parse(text).report));

test("comes with other settings, of the chosen layer first, then of the others", async () => {
  const viewer = await open();
  const stop = computeFlow(viewer);
  const { choices } = viewer.state;
  choices.residual.value = 0.3;
  expect(viewer.flows.value.size).toBe(0);
  const lengths: number[] = [];
  viewer.flows.subscribe((rows) => lengths.push(rows.size));
  choices.method.value = "flow";
  expect(viewer.row()).toBeNull();
  expect(viewer.whyNoRow()).toBe("");
  await vi.waitFor(() => expect(viewer.flows.value.size).toBe(4));
  expect(lengths.slice(0, 2)).toEqual([0, 1]);
  expect(viewer.row()?.length).toBe(6);
  expect(viewer.degenerate()?.length).toBe(6);
  for (const layer of viewer.report.layers) {
    expect(viewer.explanation.value.result("flow", layer, viewer.output)?.source).toBe("page");
  }
  // Back to what the report holds: nothing is computed.
  choices.residual.value = 0.5;
  expect(viewer.explanation.value.result("flow", 6, viewer.output)?.source).toBe("document");
  stop();
  choices.residual.value = 0.4;
  await new Promise((done) => setTimeout(done, 50));
  expect(viewer.flows.value.size).toBe(4);
});

test("of whole words can be chosen, and comes", async () => {
  const viewer = (await open()).merged.value;
  if (!viewer) throw new Error("no word has several pieces");
  expect(viewer.has("flow")).toBe(true);
  const stop = computeFlow(viewer);
  viewer.state.choices.method.value = "flow";
  await vi.waitFor(() => expect(viewer.row()?.length).toBe(4));
  stop();
});

test("is left to the server where there is one", async () => {
  const viewer = await open();
  viewer.askServer.value = () => undefined;
  const stop = computeFlow(viewer);
  viewer.state.choices.method.value = "flow";
  viewer.state.choices.residual.value = 0.3;
  await new Promise((done) => setTimeout(done, 50));
  expect(viewer.row()).toBeNull();
  expect(viewer.whyNoRow()).toMatch(/maximum flow/);
  stop();
});

test("says the limit where that is passed", async () => {
  const { report } = JSON.parse(text);
  const viewer = new Viewer(await Report.read(report));
  // Six layers of 817 tokens are more than four million arcs.
  Object.defineProperty(viewer.report, "n", { value: 817 });
  viewer.state.choices.method.value = "flow";
  viewer.state.choices.residual.value = 0.3;
  expect(viewer.whyNoRow()).toBe("Through 6 layers the page computes flow for up to 816 tokens; this text has 817.");
});
