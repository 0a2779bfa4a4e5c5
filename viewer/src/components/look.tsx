// How values are drawn: palette, threshold, light or dark.
import { useViewer } from "../context";
import { barOf, PALETTES, Scale, type PaletteName } from "../color/scale";
import { dark, theme, type Theme } from "../theme";
import { CheckBox, inOtherForm } from "./check_box";
import { Radios, Slider } from "./fields";
import { Popover } from "./popover";

const LABELS: Record<PaletteName, string> = { blue: "Blue", cividis: "Cividis (color-blind safe)", grey: "Gray" };
const THEMES: { value: Theme; words: string }[] = [
  { value: "system", words: "System" },
  { value: "light", words: "Light" },
  { value: "dark", words: "Dark" },
];

function Ramp({ name }: { name: PaletteName }) {
  const scale = new Scale(dark.value, name);
  return (
    <>
      <span class="ramp" aria-hidden="true" style={{ background: barOf((t) => scale.css(t, 1)) }} />
      {LABELS[name]}
    </>
  );
}

export function Look() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { palette, threshold, fromLeast } = state.choices;
  const begins = viewer.fromLeast(viewer.endsOf(viewer.row()));
  return (
    <Popover id="look" label="Display" title="Display">
      <fieldset class="stack" id="palettes">
        <legend>Colors</legend>
        <Radios
          name="palette"
          value={palette.value}
          class="check"
          options={PALETTES.map((name) => ({ value: name, words: <Ramp name={name} /> }))}
          choose={(name) => (palette.value = name)}
        />
      </fieldset>
      <div class="field">
        <label for="threshold">
          Hide values below <output for="threshold">{(100 * threshold.value).toFixed(0)}%</output> of the maximum
        </label>
        <Slider
          id="threshold"
          min={0}
          max={0.5}
          step={0.01}
          value={threshold.value}
          choose={(share) => (threshold.value = share)}
        />
      </div>
      {/* Mainly for flow, whose values lie close together far above 0. Pictures have it with their other choices. */}
      {report.document.input.kind !== "image" && (
        <CheckBox id="from-least" on={inOtherForm(begins, (on) => (fromLeast.value = on))} class="check">
          Stretch contrast (minimum to maximum)
        </CheckBox>
      )}
      <fieldset class="stack" id="themes">
        <legend>Theme</legend>
        <Radios
          name="theme"
          value={theme.value}
          class="check"
          options={THEMES}
          choose={(name) => (theme.value = name)}
        />
      </fieldset>
    </Popover>
  );
}
