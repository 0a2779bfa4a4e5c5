// Continuations of one prompt that diverge at a token, side by side: each one's text and probability.
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { partAt, tailOf } from "../generation/branch";
import type { GenerationLive } from "../generation/live";
import { percentage } from "../report/text";
import type { ServerState } from "./server_state";

export function Branches({ state, live }: { state: ServerState; live: GenerationLive }) {
  const branches = state.generations.branches.value.flatMap((one) => {
    const report = one.viewer.value?.report;
    return report ? [{ one, report, ids: state.generations.idsOf(one) }] : [];
  });
  if (branches.length < 2) return null;
  const [{ ids: first }, ...others] = branches;
  const from = Math.min(...others.map(({ ids }) => partAt(first, ids) ?? Infinity));
  if (!Number.isFinite(from)) return null;
  return (
    <Card id="branches" open title={`Branches from generated token ${from + 1}`}>
      <ol class="branches">
        {branches.map(({ one, report }, k) => {
          const tail = tailOf(report, from);
          const unfinished = { running: "generating", failed: "stopped", done: "" }[one.phase.value];
          return (
            <li key={k} aria-current={one === live ? "true" : undefined}>
              <button
                type="button"
                class="quiet"
                disabled={one === live}
                onClick={() => state.generations.showBranch(one)}
              >
                <Own text={tail?.text || "(nothing)"} most={160} />
              </button>
              <span class="number">
                {tail ? `${percentage(tail.first)}, mean ${percentage(tail.mean)}` : "ended before"}
                {unfinished && `, ${unfinished}`}
              </span>
            </li>
          );
        })}
      </ol>
      <p class="help" id="branches-help">
        Each branch from where it diverges: the probability of its first token there, and the geometric mean over all
        tokens from there on. Tokens before that point have the same explanation in every branch.
      </p>
    </Card>
  );
}
