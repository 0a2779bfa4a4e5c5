// The page's table of methods is the program's.
import { expect, test } from "vitest";
import { AGGREGATIONS, arrayName, METHODS } from "../src/report/document";
import { MIXING_NAMES, MIXINGS } from "../src/report/mixings";
import methods from "../../attnflow/attribution/methods.cc?raw";

test("each mixing has a name of its own, and attention is the first", () => {
  expect(new Set(MIXING_NAMES).size).toBe(MIXINGS.length);
  expect(MIXING_NAMES[0]).toBe("attention");
  expect(MIXING_NAMES).not.toContain("auto");
});

test("methods have the names, arrays and order that the program gives them", () => {
  const rows = [...methods.matchAll(/\{Method::k\w+, "([a-z-]+)", "([a-z_]+)", MethodNeeds::k(\w+)/g)];
  expect(rows.length).toBe([...methods.matchAll(/\{Method::k/g)].length);
  expect(METHODS.map((method) => [method, arrayName(method)])).toEqual(rows.map(([, name, array]) => [name, array]));
  const aggregations = rows.filter(([, , , needs]) => needs === "Graph");
  expect(AGGREGATIONS).toEqual(aggregations.map(([, name]) => name));
});
