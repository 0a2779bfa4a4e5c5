// The maps over a picture by the current choices: which there are, their scales and titles, and how they are drawn.
import type { Viewer } from "../context";
import type { StageLook } from "../export/stages";
import { isScore, type Method } from "../report/document";
import { pictureIn, type MapScale } from "../report/picture";
import type { Numbers } from "../report/values";
import { isGrey } from "./image_legend";

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

export const scaleIn = (viewer: Viewer, method: Method, map: Numbers | null): MapScale =>
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

export interface ShownMap {
  method: Method;
  map: Numbers | null;
  scale: MapScale;
}

export const shownMaps = (viewer: Viewer): ShownMap[] =>
  shownMethods(viewer).map((method) => {
    const map = mapIn(viewer, method, viewer.state.choices.layer.value);
    return { method, map, scale: scaleIn(viewer, method, map) };
  });
