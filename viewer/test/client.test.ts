import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Client, type Progress } from "../src/server/client";

const full = () =>
  new Response(JSON.stringify({ error: { kind: "queue_full", message: "expected fewer", waiting: 64 } }), {
    status: 503,
    headers: { "Retry-After": "3" },
  });
const report = () => new Response(JSON.stringify({ format: "attnflow-report" }));

describe("a full queue", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("location", { hash: "" });
    vi.spyOn(Math, "random").mockReturnValue(0);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  it("is asked again when the server says, and the place is told", async () => {
    const answers = [full(), full(), report()];
    const asked = vi.fn(() => Promise.resolve(answers.shift()));
    vi.stubGlobal("fetch", asked);
    const told: Progress[] = [];
    const answer = new Client("http://x/").post("explain", { text: "a" }, { progress: (one) => told.push(one) });
    await vi.advanceTimersByTimeAsync(2999);
    expect(asked).toHaveBeenCalledTimes(1);
    expect(told).toEqual([{ position: 64, again: 3, phase: "", done: 0, total: 0 }]);
    await vi.advanceTimersByTimeAsync(3001);
    expect(await answer).toEqual({ format: "attnflow-report" });
    expect(asked).toHaveBeenCalledTimes(3);
  });

  it("is left when the request is cancelled", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(full()));
    const stop = new AbortController();
    const answer = new Client("http://x/")
      .post("explain", { text: "a" }, {}, stop.signal)
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    stop.abort();
    expect(await answer).toMatchObject({ name: "AbortError" });
  });

  it("is no reason to ask again for other errors", async () => {
    const busy = { error: { kind: "time_limit", message: "too long" } };
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(busy), { status: 503 })));
    await expect(new Client("http://x/").post("explain", { text: "a" })).rejects.toMatchObject({ kind: "time_limit" });
  });
});

describe("a generation", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("is ended early by its name", async () => {
    vi.stubGlobal("location", { hash: "" });
    const asked = vi.fn((url: URL | string, init: RequestInit) => {
      void [url, init];
      return Promise.resolve(new Response(JSON.stringify({ stopped: true })));
    });
    vi.stubGlobal("fetch", asked);
    expect(await new Client("http://x/").stop("mine")).toBe(true);
    const [[url, init]] = asked.mock.calls;
    expect(String(url)).toMatch(/\/api\/v1\/stop$/u);
    expect([init.method, init.body]).toEqual(["POST", '{"stop_id":"mine"}']);
  });
});
