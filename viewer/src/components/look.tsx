// How values are drawn: palette, threshold, light or dark.
import type { Signal } from "@preact/signals";
import { useViewer } from "../context";
import { barOf, PALETTES, Scale, type PaletteName } from "../color/scale";
import { dark, theme, type Theme } from "../theme";
import { CheckBox } from "./check_box";
import { Popover } from "./popover";

const LABELS: Record<PaletteName, string> = { blue: "Blue", cividis: "Cividis (colour-blind safe)", grey: "Grey" };
const THEMES: { name: Theme; label: string }[] = [
  { name: "system", label: "As the system" },
  { name: "light", label: "Light" },
  { name: "dark", label: "Dark" },
];

/** For flow above all, whose values lie close together far above 0. */
export const FromLeast = ({ on }: { on: Signal<boolean> }) => (
  <CheckBox id="from-least" on={on} class="check">
    Scale from the least value
  </CheckBox>
);

export function Look() {
  const { report, state } = useViewer();
  const { palette, threshold, fromLeast } = state.choices;
  return (
    <Popover id="look" label="Look" title="Look">
      <fieldset class="stack" id="palettes">
        <legend>Colours</legend>
        {PALETTES.map((name) => {
          const scale = new Scale(dark.value, name);
          return (
            <label class="check" key={name}>
              <input
                type="radio"
                name="palette"
                value={name}
                checked={palette.value === name}
                onChange={() => (palette.value = name)}
              />
              <span class="ramp" aria-hidden="true" style={{ background: barOf((t) => scale.css(t, 1)) }} />
              {LABELS[name]}
            </label>
          );
        })}
      </fieldset>
      <div class="field">
        <label for="threshold">
          Draw values from <output for="threshold">{(100 * threshold.value).toFixed(0)}%</output> of the largest
        </label>
        <input
          id="threshold"
          type="range"
          min={0}
          max={0.5}
          step={0.01}
          value={threshold.value}
          onInput={(event) => (threshold.value = Number(event.currentTarget.value))}
        />
      </div>
      {/* Pictures have it beside their other choices. */}
      {report.document.input.kind !== "image" && <FromLeast on={fromLeast} />}
      <fieldset class="stack" id="themes">
        <legend>Page</legend>
        {THEMES.map(({ name, label }) => (
          <label class="check" key={name}>
            <input
              type="radio"
              name="theme"
              value={name}
              checked={theme.value === name}
              onChange={() => (theme.value = name)}
            />
            {label}
          </label>
        ))}
      </fieldset>
    </Popover>
  );
}
