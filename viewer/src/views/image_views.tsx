// Views that a picture's report shows instead of a text.
import type { ComponentChildren } from "preact";
import { mapOpacity } from "../color/overlay";
import { Belief } from "../components/belief";
import { PredictionCard } from "../components/predictions";
import { useViewer } from "../context";
import { oneColumn } from "../theme";
import { CheckMap } from "./check_map";
import { CurveCard } from "./curve";
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

const lookOf = (sideBySide: boolean) => (sideBySide ? "image-views wide beside" : "image-views wide");

/** The picture, and next to it what the model predicts and how far to believe the map. */
export function ImageLead() {
  const { sideBySide } = useViewer().state.choices;
  const narrow = oneColumn.value;
  return (
    <Look of={lookOf(sideBySide.value)}>
      <ImageOverlay />
      <div class="pile">
        <section class="card" id="trust-card" aria-label="How far to believe it">
          <Belief />
        </section>
        <CheckMap />
        <CurveCard />
        {!narrow && <PredictionCard open />}
      </div>
    </Look>
  );
}

export function ImageViews() {
  return (
    <Look of="views wide">
      <ImageRanking />
      <ImageShares />
      {oneColumn.value && <PredictionCard />}
      <ImageLayers />
    </Look>
  );
}
