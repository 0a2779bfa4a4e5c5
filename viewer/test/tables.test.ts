// Tables and pictures for papers.
import { expect, test } from "vitest";
import { inInches } from "../src/export/frame";
import { toLatex } from "../src/export/tables";

test("a table of LaTeX has escaped words, and numbers to the right", () => {
  const rows = [
    [0, "50% & more_", 0.123456, null],
    [1, "a\\b~", 1.5e-7, 2],
  ];
  expect(toLatex({ columns: ["input_token", "token", "rollout", "rank"], rows })).toBe(
    [
      "\\begin{tabular}{rlrr}",
      "  \\hline",
      "  input\\_token & token & rollout & rank \\\\",
      "  \\hline",
      "  0 & 50\\% \\& more\\_ & $0.1235$ &  \\\\",
      "  1 & a\\textbackslash{}b\\textasciitilde{} & $1.5 \\cdot 10^{-7}$ & 2 \\\\",
      "  \\hline",
      "\\end{tabular}\n",
    ].join("\n"),
  );
});

test("a picture for paper has its width in inches, and keeps its form", () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="660" height="330" viewBox="0 0 660 330"><rect width="5" height="6"/></svg>';
  expect(inInches(svg, 3.3)).toBe(
    '<svg xmlns="http://www.w3.org/2000/svg" width="3.3in" height="1.65in" viewBox="0 0 660 330"><rect width="5" height="6"/></svg>',
  );
});
