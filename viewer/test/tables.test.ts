// Tables and pictures for papers.
import { expect, test } from "vitest";
import { inInches } from "../src/export/frame";
import { widthFor } from "../src/export/paper";
import { toLatex } from "../src/export/tables";

test("a table of LaTeX has escaped words, and numbers to the right", () => {
  const rows = [
    [0, "50% & more_", 0.123456, null],
    [1, "a\\b~", 1.5e-7, 2],
  ];
  expect(toLatex({ columns: ["input_token", "token", "rollout", "rank"], rows })).toBe(
    [
      "% \\usepackage{booktabs}",
      "\\begin{tabular}{rlrr}",
      "  \\toprule",
      "  input\\_token & token & rollout & rank \\\\",
      "  \\midrule",
      "  0 & 50\\% \\& more\\_ & $0.1235$ &  \\\\",
      "  1 & a\\textbackslash{}b\\textasciitilde{} & $1.5 \\cdot 10^{-7}$ & 2 \\\\",
      "  \\bottomrule",
      "\\end{tabular}\n",
    ].join("\n"),
  );
  expect(toLatex({ columns: ["token"], rows: [["<s>|"], ["b"]] }, 1)).toContain(
    "\\midrule\n  \\textless{}s\\textgreater{}\\textbar{} \\\\\n  \\bottomrule",
  );
});

test("a picture for paper has its width in inches, and keeps its form", () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="660" height="330" viewBox="0 0 660 330"><rect width="5" height="6"/></svg>';
  expect(inInches(svg, 3.3)).toBe(
    '<svg xmlns="http://www.w3.org/2000/svg" width="3.3in" height="1.65in" viewBox="0 0 660 330"><rect width="5" height="6"/></svg>',
  );
});

test("a picture for paper is laid out so that its largest letters have 8 points", () => {
  const svg = (...sizes: string[]) => sizes.map((size) => `<text font-size="${size}">a</text>`).join("");
  // 16 pixels become 32 / 3, of which 316.8 are 3.3 inches.
  expect(widthFor(svg("13px", "16", "12.5"), 3.3)).toBe(475);
  expect(widthFor("<path/>", 3.3)).toBe(317);
});
