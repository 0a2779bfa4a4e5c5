// The page that `attnflow serve` sends, before a server that answers from files (served.js).
import { h, render } from "preact";
import { vi } from "vitest";
import { Client } from "../../src/server/client";
import { ServerApp } from "../../src/server/server_app";
import { ServerState } from "../../src/server/server_state";
import { begin, click, has, idle, one, until } from "./page";
import { served } from "./served";

/** Opens the page; the tab is the same as before within a test, as after a reload. */
export async function serve(options: Parameters<typeof served>[0] = {}, fragment = "") {
  const server = served(options);
  vi.stubGlobal("fetch", server.fetch);
  const root = begin(fragment);
  render(h(ServerApp, { state: new ServerState(new Client()) }), root);
  await until(() => has("#login, #tasks input:not([disabled])"));
  return server;
}

export const linkTo = (ask: object | string, choices = "") =>
  `#v=1&ask=${encodeURIComponent(typeof ask === "string" ? ask : JSON.stringify(ask))}${choices}`;

export const asked = () =>
  JSON.parse(new URLSearchParams(location.hash.slice(1)).get("ask") ?? "null") as Record<string, unknown> | null;

/** Waits until the answer is there and drawn, and the address says what was asked. */
export async function answered() {
  await until(() => !has("#status-text") && has("#page") && asked());
  await idle();
}

/** The form folds with each answer. */
export async function unfold() {
  if (has("#edit")) await click("#edit");
}

export async function task(name: string) {
  await unfold();
  await click(`#tasks input[value="${name}"]`);
}

export async function explain() {
  await unfold();
  await click("#explain");
}

/** Something that the server waits for, again and again, until the test lets it go on. */
export function gate() {
  const waiting: (() => void)[] = [];
  return {
    waiting,
    wait: () => new Promise<void>((done) => waiting.push(done)),
    /** The next event, `count` times. */
    async pass(count = 1) {
      for (let k = 0; k < count; ++k) {
        await until(() => waiting.length > 0);
        waiting.shift()?.();
      }
    },
  };
}

export const isBusy = () => one("#text-strips").getAttribute("aria-busy") === "true";
