// The card of all methods: once on the page of a text, wherever there is room, and not on that of a picture.
import { expect, test } from "vitest";
import { all, has, open, press } from "./page";
import { embeddedOf } from "./samples";

test.each([
  ["", "arabic", 1] as const, // without predictions
  ["", "short", 1] as const, // next to a long list of them
  ["image", "least", 0] as const,
])("%s/%s: %i", async (folder, name, count) => {
  await open(embeddedOf(folder, name));
  (document.activeElement as HTMLElement).blur();
  await press("c");
  expect(all("#methods-card").length).toBe(count);
  expect(has("#all-methods")).toBe(count > 0);
});
