// Views that a picture's report shows instead of a text.
import type { ComponentChildren } from "preact";
import { mapOpacity } from "../color/overlay";
import { useViewer } from "../context";
import { oneColumn } from "../theme";
import { ImageLayers } from "./image_layers";
import { isGrey } from "./image_legend";
import { ImageOverlay } from "./image_overlay";
import { ImageRanking, ImageShares } from "./image_ranking";

function Look({ of, children }: { of: string; children: ComponentChildren }) {
  const { choices } = useViewer().state;
  const { overlay, opacity, gridLines } = choices;
  // A single color stands out if the picture itself has none.
  const classes = [of, isGrey(choices) && "grey", gridLines.value && "lines"].filter(Boolean);
  return (
    <div
      class={classes.join(" ")}
      style={{ "--opacity": String(mapOpacity({ overlay: overlay.value, opacity: opacity.value })) }}
    >
      {children}
    </div>
  );
}

/** Next to the matrix, with the same height. */
export const LayersOfImage = () => (
  <Look of="pile">
    <ImageLayers />
  </Look>
);

const lookOf = (sideBySide: boolean) => (sideBySide ? "image-views wide beside" : "image-views wide");

/** In one column the picture comes before the controls, everything else after them. */
export function ImageLead() {
  return (
    <Look of={lookOf(useViewer().state.choices.sideBySide.value)}>
      <ImageOverlay />
    </Look>
  );
}

export function ImageViews({ prediction }: { prediction: ComponentChildren }) {
  const { sideBySide } = useViewer().state.choices;
  const narrow = oneColumn.value;
  return (
    <Look of={lookOf(sideBySide.value)}>
      {!narrow && (
        <div class="pile">
          <ImageOverlay />
        </div>
      )}
      <div class="pile">
        {!narrow && prediction}
        <ImageRanking />
        {narrow && prediction}
        <ImageShares />
      </div>
    </Look>
  );
}
