// The page's tables of mixings and methods are the program's.
import { expect, test } from "vitest";
import { AGGREGATIONS, arrayName, METHODS } from "../src/report/document";
import { MIXING_NAMES, MIXINGS } from "../src/report/mixings";
import methods from "../../attnflow/attribution/methods.cc?raw";
import table from "../../attnflow/attribution/mixings.cc?raw";

const ROW = /\{Mixing::k\w+, "([a-z-]+)", MixingNeeds::k(\w+), "([^"]+)",\s*(?:"[^"]*"\s*)+,\s*Rule::k(\w+)/g;
const spelled = (name: string) => name.replace(/(?<=.)[A-Z]/g, "-$&").toLowerCase();

test("mixings have the names, needs, words and rules that the program gives them", () => {
  const rows = [...table.matchAll(ROW)].map(([, name, needs, weights, rule]) => [
    name,
    spelled(needs),
    weights,
    spelled(rule),
  ]);
  expect(rows.length).toBe([...table.matchAll(/\{Mixing::k/g)].length);
  // What the program chooses has another name in a report.
  const reported = rows.filter(([name]) => name !== "auto");
  expect(MIXINGS.map(({ name, needs, weights, rule }) => [name, needs, weights, rule])).toEqual(reported);
  expect(MIXING_NAMES).toEqual(reported.map(([name]) => name));
});

test("methods have the names, arrays and order that the program gives them", () => {
  const rows = [...methods.matchAll(/\{Method::k\w+, "([a-z-]+)", "([a-z_]+)", MethodNeeds::k(\w+)/g)];
  expect(rows.length).toBe([...methods.matchAll(/\{Method::k/g)].length);
  expect(METHODS.map((method) => [method, arrayName(method)])).toEqual(rows.map(([, name, array]) => [name, array]));
  const aggregations = rows.filter(([, , , needs]) => needs === "Graph");
  expect(AGGREGATIONS).toEqual(aggregations.map(([, name]) => name));
});
