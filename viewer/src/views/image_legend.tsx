// How the map is laid over the picture: the choice, and the meaning of colors and lines.
import { barCss, barStops, BEHIND, type Overlay } from "../color/overlay";
import { Radios } from "../components/fields";
import { useViewer } from "../context";
import { CASING, heldBy, lineLook, SHARES } from "../report/contours";
import { cutOf, type MapScale } from "../report/picture";
import { AGAINST, FOR, format, formatSigned } from "../report/text";
import type { Numbers } from "../report/values";
import type { ChoiceSignals } from "../state";
import "../styles/image.css";

const KINDS: { overlay: Overlay; label: string; title: string }[] = [
  { overlay: "colour", label: "Color", title: "The scale's colors over the picture" },
  {
    overlay: "opacity",
    label: "Opacity",
    title: "One color over the gray picture, the more opaque the larger the value",
  },
  { overlay: "outline", label: "Outline", title: "Lines around the patches that hold 50, 80 and 95%" },
  { overlay: "beside", label: "Side by side", title: "The picture without the map, and the map without the picture" },
];

export const EXPLAINED: Record<Overlay, string> = {
  colour: "Colors look lighter over light parts of the picture, darker over dark ones; the bar is drawn over gray.",
  opacity: "The larger the value, the more of the picture it covers.",
  outline:
    "Outlined: the fewest patches that together hold 50, 80 and 95% of the total on patches; those for 50% are tinted. The table and the tooltip show the numbers.",
  beside: "The map without the picture has exactly its bar's colors.",
};

export const isGrey = ({ overlay, grey }: ChoiceSignals): boolean => grey.value || overlay.value === "opacity";

export function OverlayChoice() {
  const { overlay } = useViewer().state.choices;
  return (
    <fieldset class="segments" id="overlay">
      <legend class="visually-hidden">How the map is drawn over the picture</legend>
      <Radios
        name="overlay"
        value={overlay.value}
        options={KINDS.map(({ overlay: value, label, title }) => ({ value, words: <span>{label}</span>, title }))}
        choose={(kind) => (overlay.value = kind)}
      />
    </fieldset>
  );
}

/** Legend of the map, drawn the same way. @param map for a single map, whose patches are counted */
export function MapLegend({ scale: ends, map = null }: { scale: MapScale; map?: Numbers | null }) {
  const { scale, differenceScale, state } = useViewer();
  const { low, top, above, signed } = ends;
  const { overlay, opacity, threshold } = state.choices;
  if (overlay.value === "outline") return <LineLegend map={map} />;
  const look = {
    overlay: overlay.value,
    colours: signed ? differenceScale.value : scale.value,
    opacity: opacity.value,
  };
  const bar = barCss(barStops(look, cutOf(ends, threshold.value)));
  const over = overlay.value !== "beside";
  return (
    <div class="legend">
      <span>{signed ? `${AGAINST} ${format(low)}` : format(low)}</span>
      <span
        class={over ? "ramp over" : "ramp"}
        aria-hidden="true"
        style={{ background: over ? `${bar}, ${BEHIND}` : bar }}
      />
      <span>{signed ? `${formatSigned(top)} ${FOR}` : format(top)}</span>
      {above > top && <span>(itself {format(above)})</span>}
    </div>
  );
}

/** The outlines' lines over white to black, and the number of patches inside each. */
function LineLegend({ map }: { map: Numbers | null }) {
  const held = map && heldBy(map);
  return (
    <ul class="legend lines-legend">
      {SHARES.map((share, k) => {
        const look = lineLook(k, 34);
        return (
          <li key={share} data-share={share}>
            <svg class="ramp over" viewBox="0 0 44 24" width={44} height={24} aria-hidden="true">
              {look.tint > 0 && <rect y={12} width={44} height={12} fill={look.colour} fill-opacity={look.tint} />}
              <path d="M-4 12H48" stroke={CASING} stroke-width={look.casing} />
              <path d="M-4 12H48" stroke={look.colour} stroke-width={look.width} stroke-dasharray={look.dashes} />
            </svg>
            <span>
              {Math.round(100 * share)}%{held && `: ${held[k].patches} ${held[k].patches === 1 ? "patch" : "patches"}`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
