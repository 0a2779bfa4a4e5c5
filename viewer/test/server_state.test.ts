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

test("examples are questions while the prompt is a turn of a conversation, and what was typed stays", () => {
  const state = new ServerState({ locked: { value: false } } as unknown as Client);
  const model = (name: string, chat: boolean, text: string) => ({
    name,
    kind: "generation",
    chat,
    examples: [{ text }],
  });
  state.task.value = "generation";
  state.table.value = {
    models: [model("a", true, "Once upon"), model("b", true, "Who?"), model("c", false, "Begin")],
  } as unknown as ModelTable;
  const [question] = state.examples.value;
  expect(question).toMatch(/\?$/);
  state.prompt.value = question;
  const chat = (on: boolean) => state.chooseWith(() => (state.chatChoice.value = on));
  const choose = (generation: string) =>
    state.chooseWith(() => (state.model.value = { ...state.model.value, generation }));
  chat(false);
  expect([state.examples.value, state.prompt.value]).toEqual([["Once upon"], "Once upon"]);
  chat(true);
  expect(state.prompt.value).toBe(question);
  // Questions of its own, and a model without a template.
  choose("b");
  expect(state.prompt.value).toBe("Who?");
  choose("c");
  expect(state.prompt.value).toBe("Begin");
  state.prompt.value = "Mine";
  choose("a");
  expect(state.prompt.value).toBe("Mine");
});
