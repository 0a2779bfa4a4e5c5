// What a report of a picture shows instead of a text.
import { Predictions } from "../components/predictions";
import { useViewer } from "../context";
import { ImageLayers } from "./image_layers";
import { ImageOverlay } from "./image_overlay";
import { ImageRanking, ImageShares } from "./image_ranking";

export function ImageViews() {
  const { report, state } = useViewer();
  const { opacity, grey, gridLines, sideBySide } = state.choices;
  const classes = ["image-views", "wide"];
  if (grey.value) classes.push("grey");
  if (gridLines.value) classes.push("lines");
  if (sideBySide.value) classes.push("beside");
  const predicted = (report.document.predictions ?? []).length > 0;
  return (
    <div class={classes.join(" ")} style={{ "--opacity": String(opacity.value) }}>
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
