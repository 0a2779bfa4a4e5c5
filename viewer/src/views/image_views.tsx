// What a report of a picture shows instead of a text.
import { Predictions } from "../components/predictions";
import { mapOpacity } from "../color/overlay";
import { useViewer } from "../context";
import { ImageLayers } from "./image_layers";
import { isGrey } from "./image_legend";
import { ImageOverlay } from "./image_overlay";
import { ImageRanking, ImageShares } from "./image_ranking";

export function ImageViews() {
  const { report, state } = useViewer();
  const { overlay, opacity, gridLines, sideBySide } = state.choices;
  const classes = ["image-views", "wide"];
  // One colour is told from the picture's where that has none.
  if (isGrey(state.choices)) classes.push("grey");
  if (gridLines.value) classes.push("lines");
  if (sideBySide.value) classes.push("beside");
  const predicted = (report.document.predictions ?? []).length > 0;
  return (
    <div
      class={classes.join(" ")}
      style={{ "--opacity": String(mapOpacity({ overlay: overlay.value, opacity: opacity.value })) }}
    >
      <div class="pile">
        <ImageOverlay />
      </div>
      <div class="pile">
        {predicted && (
          <aside class="card" aria-label="Prediction">
            <Predictions report={report} id="predictions" />
          </aside>
        )}
        <ImageRanking />
        <ImageShares />
      </div>
      <ImageLayers />
    </div>
  );
}
