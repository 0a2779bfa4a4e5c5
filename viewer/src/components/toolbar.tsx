// The page's top line: what was explained, and the page's actions.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import type { Report } from "../report/report";
import { modelWords, pixelWords } from "../report/setting_words";
import { copyLink, isComparing, lackingIn, pageLink, toggleComparison } from "../shortcuts";
import { dark, theme } from "../theme";
import { showGuide } from "./guide";
import { showHelp } from "./help";

/**
 * "12 tokens", without the one that stands for their mean; for an encoder-decoder, those of the source and the target;
 * for a generation, those of the prompt and generated ones.
 */
function countsOf({ m, n, settings, document, joint, tokens: all }: Report): string[] {
  const tokens = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
  if (!document.generation) {
    if (joint) return [tokens(joint.sourceTokens, "source token"), tokens(n - joint.sourceTokens, "target token")];
    return [tokens(all.filter(({ role }) => role !== "mean").length, "token")];
  }
  if (joint) return [tokens(joint.sourceTokens, "source token"), `${n - m} generated`];
  return [tokens(m, settings.words ? "prompt word" : "prompt token"), `${n - m} generated`];
}

/** Why nothing can be compared; "" if something can. */
function missingComparison(viewer: Viewer): string {
  if (!(viewer instanceof GenerationViewer) || viewer.comparable) return "";
  return viewer.state.arriving.value
    ? "Other methods may arrive with the report once the text is complete"
    : "This report holds one method";
}

export function Toolbar() {
  const viewer = useViewer();
  const { report } = viewer;
  const { model } = report;
  const given = report.document.input.image?.model_input;
  const causal = model.causal && !report.document.generation;
  const name = report.document.input.image?.name ?? "";
  const parts = [
    name,
    ...modelWords(model),
    given ? pixelWords(given) : "",
    causal ? "causal" : "",
    ...countsOf(report),
  ];
  const words = parts.filter(Boolean).join(" · ");
  const missing = missingComparison(viewer);
  return (
    <div class="row toolbar">
      <p id="model" title={words}>
        {words}
      </p>
      <div class="tools">
        <button
          type="button"
          class="quiet"
          id="compare-button"
          aria-pressed={isComparing(viewer) && !missing}
          disabled={missing !== ""}
          title={missing || (report.document.generation ? "All methods side by side (c)" : undefined)}
          onClick={() => toggleComparison(viewer)}
        >
          Compare
        </button>
        <button type="button" class="quiet" id="guide-button" onClick={() => showGuide()}>
          How to read this
        </button>
        <LinkButton />
        <ThemeButton />
        <SignButton id="help-button" label="Keyboard shortcuts" letter="?" sign="?" press={showHelp} />
      </div>
    </div>
  );
}

/** Copies the page's address. A warning about what it cannot hold ("the picture") is shown before the click. */
function LinkButton() {
  const viewer = useViewer();
  const lacks = lackingIn(viewer);
  const copied = useSignal(false);
  const refused = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  const press = async () => {
    copied.value = await copyLink(viewer);
    refused.value = !copied.value;
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.select();
    });
    setTimeout(() => (copied.value = false), 2000);
  };
  // A page passed to a frame as text has no address.
  if (location.protocol === "about:") return null;
  return (
    <>
      {refused.value && (
        <input
          id="link-field"
          readOnly
          ref={field}
          aria-label="Link to what is shown"
          title="This browser does not let the page copy it"
          value={pageLink(viewer)}
        />
      )}
      <button
        type="button"
        class="quiet"
        id="link-button"
        title={lacks ? `The link keeps your choices, but not ${lacks}` : "Copy a link to what is shown (y)"}
        onClick={() => void press()}
      >
        {/* Both words reserve their space, so that nothing moves. */}
        <span class="swap">
          <span class={copied.value ? "gone" : ""}>Copy link{lacks && ` without ${lacks}`}</span>
          <span class={copied.value ? "" : "gone"}>Copied{lacks && `, without ${lacks}`}</span>
        </span>
      </button>
    </>
  );
}

interface SignButtonProps {
  id: string;
  label: string;
  letter: string;
  sign: string;
  press(): void;
}

const SignButton = ({ id, label, letter, sign, press }: SignButtonProps) => (
  <button type="button" class="quiet icon" id={id} aria-label={label} title={`${label} (${letter})`} onClick={press}>
    <span aria-hidden="true">{sign}</span>
  </button>
);

export const ThemeButton = () => (
  <SignButton
    id="theme-button"
    label={dark.value ? "Light page" : "Dark page"}
    letter="d"
    sign={dark.value ? "☀" : "☾"}
    press={() => (theme.value = dark.value ? "light" : "dark")}
  />
);
