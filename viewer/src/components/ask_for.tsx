// How to get numbers that the page does not have: from the server, or else by a command.
import { useViewer } from "../context";
import { unusualIn, type Recipe } from "../report/recipe";
import { isScore, METHODS, type Method } from "../report/document";
import { hasTarget, mixingInfo, type MixingName } from "../report/mixings";
import type { Report } from "../report/report";
import { copyText } from "./copy_text";

/** Commands longer than this (for long texts) scroll. */
const MOST_IN_LINE = 400;

/** A command to copy. */
export function Command({ text }: { text: string }) {
  const { announcement } = useViewer();
  const long = text.length > MOST_IN_LINE;
  return (
    <>
      <code class={long ? "command" : undefined} tabIndex={long ? 0 : undefined}>
        {text}
      </code>{" "}
      <button
        type="button"
        class="quiet copy-command"
        onClick={async () => {
          announcement.value = (await copyText(text))
            ? "The command was copied"
            : "This browser does not let the page copy the command";
        }}
      >
        Copy command
      </button>
    </>
  );
}

export const Close = ({ close }: { close: () => void }) => (
  <button type="button" class="quiet" onClick={close}>
    Close
  </button>
);

/** Positions of the tokens that were blanked when the report was made. */
export function blankedIn({ document }: Report): readonly number[] {
  const positions = document.notes?.find(({ code }) => code === "tokens-blanked")?.values.positions;
  return Array.isArray(positions) ? positions.filter((one) => typeof one === "number") : [];
}

/**
 * The command that computes numbers missing from the page.
 * @param token position in the report; "all": every output token
 * @param mixing the report's, or another one
 */
export function commandFor(
  report: Report,
  recipe: Recipe,
  method: Method,
  token: number | "all",
  mixing: MixingName = report.settings.mixing,
  blank: readonly number[] = blankedIn(report),
): string {
  const { input, model, settings } = report.document;
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["attnflow"];
  if (input.kind === "image") parts.push("image", quoted(input.image?.name || "PICTURE"));
  else if (input.kind === "attention") parts.push("explain", "--attention", quoted(model.name || "FILE.npz"));
  else parts.push("explain", quoted(input.text));
  if (report.joint && input.kind === "text") parts.push("--target-text", quoted(input.text_pair ?? ""));
  else if (input.text_pair) parts.push("--pair", quoted(input.text_pair));
  // A report knows its model's name, not its path.
  const builtin = model.name === "agreement" || model.name === "fashion";
  if (input.kind !== "attention")
    parts.push("--model", builtin ? model.name : quoted(`path/to/${model.name || "MODEL"}`));
  parts.push("--method", METHODS.filter((one) => one === method || settings.method.includes(one)).join(","));
  if (blank.length > 0) parts.push("--blank", blank.join(","));
  // The command counts subword tokens even where it merges them into words.
  if (token === "all") parts.push("--output-token", token);
  else if (token !== report.document.output_token) {
    const [piece] = report.piecesOf(token);
    parts.push("--output-token", report.settings.words ? quoted(report.tokens[token].label) : String(piece));
  }
  const info = mixingInfo(mixing);
  const { needs, rule } = info;
  // The default mixing of models that write text is not attention.
  if (mixing !== "attention" || model.causal || report.joint) parts.push("--mixing", mixing);
  if (hasTarget(info) || isScore(method) || settings.method.some(isScore)) {
    for (const name of ["target", "against"] as const) {
      const asked = settings[name] ?? "auto";
      if (asked !== "auto" || (name === "target" && hasTarget(info))) parts.push(`--${name}`, quoted(asked));
    }
  }
  for (const name of unusualIn(recipe)) {
    // Only attention has heads; contributions and relevance already contain the residual connection.
    if (name === "residual" ? rule === "convex" : name !== "heads" || needs === "attention")
      parts.push(`--${name.replace("_", "-")}`, String(recipe[name]));
  }
  if (recipe.discard > 0 && settings.discard_keep_special) parts.push("--discard-keep-special");
  if (report.ofWords) parts.push("--words");
  // Heads relate subword tokens.
  else if (report.hasHeads) parts.push("--keep-attention");
  parts.push("-o", "report.html");
  return parts.join(" ");
}

interface AskForProps {
  id: string;
  method: Method;
  token: number | "all";
  /** absent: the current choice */
  recipe?: Recipe;
}

/** A button that asks the server for the current choice or, without a server, shows the command. */
export function AskFor({ id, method, token, recipe: other }: AskForProps) {
  const viewer = useViewer();
  const { report, explanation, askServer, asking } = viewer;
  const recipe = other ?? explanation.value.recipe;
  const ask = askServer.value;
  if (!ask) {
    return (
      <>
        This command computes {token === "all" ? "them" : "it"}:{" "}
        <Command text={commandFor(report, recipe, method, token)} />
      </>
    );
  }
  const now = asking.value;
  const busy = now !== null && now.method === method && (now.token === null) === (token === "all");
  return (
    // Not disabled, which would drop the focus.
    <button
      type="button"
      id={id}
      aria-disabled={busy}
      onClick={() => {
        if (!busy) ask(viewer, { method, recipe, token: token === "all" ? null : token });
      }}
    >
      {busy ? `The server is computing ${method} …` : "Compute on the server"}
    </button>
  );
}
