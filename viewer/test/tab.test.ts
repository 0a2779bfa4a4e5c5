// What a tab keeps while it is reloaded.
import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepDrafts } from "../src/server/tab";

const kept = new Map<string, string>();
let full = false;
beforeEach(() => {
  kept.clear();
  full = false;
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem(key: string, value: string) {
      if (full) throw new Error("QuotaExceededError");
      kept.set(key, value);
    },
    removeItem: (key: string) => kept.delete(key),
  });
});
afterEach(() => vi.unstubAllGlobals());

test("what was typed comes back, and nothing typed takes no other text away", () => {
  const fields = { text: signal(""), prompt: signal("") };
  const stop = keepDrafts(fields);
  fields.text.value = "a 😀 text";
  stop();
  const again = { text: signal(""), prompt: signal("an example") };
  keepDrafts(again)();
  expect([again.text.value, again.prompt.value]).toEqual(["a 😀 text", "an example"]);
});

test("without storage all works, but for that", () => {
  full = true;
  const text = signal("typed");
  keepDrafts({ text })();
  expect(text.value).toBe("typed");
  kept.set("attnflow-draft", "no JSON");
  keepDrafts({ text })();
  expect(text.value).toBe("typed");
});
