// What the server's page asks, beyond what was typed.
import { expect, test } from "vitest";
import type { Client, ModelTable } from "../src/server/client";
import { ServerState } from "../src/server/server_state";

const table = (chat: boolean) =>
  ({ models: [{ name: "writer", kind: "generation", chat, labels: [], examples: [] }] }) as unknown as ModelTable;

test("a prompt is a turn of a conversation where the model has a template for one, unless it is not wanted", () => {
  const state = new ServerState({ locked: { value: false } } as unknown as Client);
  state.task.value = "generation";
  state.table.value = table(true);
  expect(state.promptRequest().chat).toBe(true);
  state.chatChoice.value = false;
  expect(state.promptRequest().chat).toBe(false);
  state.chatChoice.value = null;
  state.table.value = table(false);
  expect(state.promptRequest().chat).toBe(false);
});
