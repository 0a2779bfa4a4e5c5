// Sentences that are put together of several parts keep the spaces between them: JSX drops those at the ends of lines.
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCES = import.meta.glob<string>("../src/**/*.tsx", { query: "?raw", import: "default", eager: true });

/** The strings in an expression: its own, not those of what it calls or of elements in it. */
function stringsOf(expression: ts.Expression): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.text);
    else if (ts.isTemplateExpression(node))
      found.push(node.head.text + "…" + (node.templateSpans.at(-1)?.literal.text ?? ""));
    else if (ts.isConditionalExpression(node)) [node.whenTrue, node.whenFalse].forEach(visit);
    else if (ts.isBinaryExpression(node)) visit(node.right);
    else if (ts.isParenthesizedExpression(node)) visit(node.expression);
  };
  visit(expression);
  return found.filter(Boolean);
}

/** A text as JSX renders it: lines lose the space around them. */
const written = (text: string) => text.replace(/^\s*\n\s*|\s*\n\s*$/gu, "").replace(/\s*\n\s*/gu, " ");

/** Places where a sentence's end and a word meet; how many places there are. */
function scan(name: string, source: string) {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  let places = 0;
  const glued: string[] = [];
  const meet = (before: string[], after: string[]) => {
    ++places;
    for (const one of before) {
      for (const other of after) {
        if (/[\p{L}\p{N}.!?,;:)]$/u.test(one) && /^\p{L}/u.test(other))
          glued.push(`${one.slice(-20)}${other.slice(0, 20)}`);
      }
    }
  };
  const partsOf = (child: ts.JsxChild) => {
    if (ts.isJsxText(child)) return [written(child.text)].filter(Boolean);
    return ts.isJsxExpression(child) && child.expression ? stringsOf(child.expression) : [];
  };
  const visit = (node: ts.Node) => {
    if (ts.isJsxElement(node) || ts.isJsxFragment(node)) {
      const children = node.children.filter((child) => !(ts.isJsxText(child) && written(child.text) === ""));
      for (const [k, child] of children.entries()) {
        const next = children[k + 1];
        if (next) meet(partsOf(child), partsOf(next));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { places, glued };
}

test("parts of sentences do not run into each other", () => {
  const found = Object.entries(SOURCES).map(([name, source]) => scan(name, source));
  expect(found.reduce((sum, { places }) => sum + places, 0)).toBeGreaterThan(300);
  expect(found.flatMap(({ glued }) => glued)).toEqual([]);
});
