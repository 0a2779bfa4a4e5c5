// What a report of a picture shows instead of a text.
import type { ComponentChildren } from "preact";
import { mapOpacity } from "../color/overlay";
import { useViewer } from "../context";
import { oneColumn } from "../theme";
import { ImageLayers } from "./image_layers";
import { isGrey } from "./image_legend";
import { ImageOverlay } from "./image_overlay";
import { ImageRanking, ImageShares } from "./image_ranking";

export function ImageViews({ prediction }: { prediction: ComponentChildren }) {
  const { state } = useViewer();
  const { overlay, opacity, gridLines, sideBySide } = state.choices;
  const classes = ["image-views", "wide"];
  // One colour is told from the picture's where that has none.
  if (isGrey(state.choices)) classes.push("grey");
  if (gridLines.value) classes.push("lines");
  if (sideBySide.value) classes.push("beside");
  const narrow = oneColumn.value;
  return (
    <div
      class={classes.join(" ")}
      style={{ "--opacity": String(mapOpacity({ overlay: overlay.value, opacity: opacity.value })) }}
    >
      <div class="pile">
        <ImageOverlay />
      </div>
      <div class="pile">
        {!narrow && prediction}
        <ImageRanking />
        {narrow && prediction}
        <ImageShares />
      </div>
      <ImageLayers />
    </div>
  );
}
