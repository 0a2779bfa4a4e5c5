// A tab keeps its state over a reload.
import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepDrafts, keepPicture, keptPicture } from "../src/server/tab";

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
  const { stop } = keepDrafts(fields, () => "");
  fields.text.value = "a 😀 text";
  stop();
  const again = { text: signal(""), prompt: signal("an example") };
  keepDrafts(again, () => "").stop();
  expect([again.text.value, again.prompt.value]).toEqual(["a 😀 text", "an example"]);
});

test("without storage all works, but for that", () => {
  full = true;
  const text = signal("typed");
  keepDrafts({ text }, () => "").stop();
  expect(text.value).toBe("typed");
  kept.set("attnflow-draft", "no JSON");
  keepDrafts({ text }, () => "").stop();
  expect(text.value).toBe("typed");
});

test("what was typed over what a link shows comes back, not over another link", () => {
  const text = signal("asked");
  keepDrafts({ text }, () => "A").stop();
  text.value = "asked";
  const first = keepDrafts({ text }, () => "A");
  text.value = "typed since";
  first.stop();
  for (const [asked, expected] of [
    ["A", "typed since"],
    ["B", "of the link"],
  ]) {
    const again = signal("");
    const { prevail, stop } = keepDrafts({ text: again }, () => asked);
    stop();
    again.value = "of the link";
    prevail();
    expect(again.value).toBe(expected);
    kept.set("attnflow-draft", JSON.stringify({ text: "typed since", asked: "A" }));
  }
});

test("a picture comes back at its address, unless it was too large", async () => {
  class Reader {
    result = "";
    onload: () => void = () => undefined;
    readAsDataURL(file: File) {
      void file.arrayBuffer().then((bytes) => {
        this.result = `data:${file.type};base64,${btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""))}`;
        this.onload();
      });
    }
  }
  vi.stubGlobal("FileReader", Reader);
  const bytes = Uint8Array.from({ length: 300 }, (_, k) => k % 256);
  await keepPicture("ask", new File([bytes], "a.png", { type: "image/png" }));
  const file = keptPicture("ask");
  expect([file?.name, file?.type]).toEqual(["a.png", "image/png"]);
  expect(new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(bytes);
  expect(keptPicture("another")).toBeUndefined();
  await keepPicture("ask", new File([new Uint8Array(4e6)], "b.png", { type: "image/png" }));
  expect(keptPicture("ask")).toBeUndefined();
});
