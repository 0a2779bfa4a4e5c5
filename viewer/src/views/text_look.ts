// The look of each token of a text: colored by what the chosen output token draws on.
import type { Look } from "../components/painted_text";
import type { Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { formatOf } from "../report/text";

/** Reads signals: call it inside an effect. */
export function lookIn(viewer: Viewer): (token: number) => Look {
  const { report, state, output } = viewer;
  const generation = viewer instanceof GenerationViewer;
  // An explanation's scores are for one prediction, not for an output token here.
  const chosen = viewer.scored && !generation ? -1 : report.namedBy(output);
  const words = formatOf(state.choices.method.value);
  const row = viewer.row();
  const reasons = state.reasons.value;
  const shades = viewer.shades(viewer.endsOf(row));
  // Over relevance, nearly all flow is set by one layer and answers the question all the same: marks would say nothing.
  const flags = report.mixing.rule === "contained-normalized" ? null : viewer.degenerate();
  return (token) => {
    const generated = token >= report.m;
    const value = generated && token >= chosen ? undefined : row?.[token];
    const reason = reasons[token];
    const coloured = value !== undefined && !reason;
    const flagged = Boolean(flags?.[token] && value);
    const classes = [
      generated && token > chosen && "later",
      reason && value !== undefined && "excluded",
      coloured && shades.beyond(value) && "above",
      flagged && "degenerate",
    ].filter((name) => typeof name === "string");
    const { label } = report.tokens[token];
    const named = generated ? `generated token ${report.placeOf(token) + 1}: ${label}` : label;
    const said = value === undefined ? !generated && "not computed" : words(value);
    return {
      value,
      classes,
      selected: token === chosen,
      name: () =>
        [named, said, generation && reason && `excluded (${reason})`, flagged && "degenerate"]
          .filter(Boolean)
          .join(", "),
      ...(coloured ? { background: shades.css(value), ink: shades.ink(value) } : {}),
    };
  };
}
