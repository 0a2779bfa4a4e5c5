// What the composer stands for, beyond what was typed.
import { expect, test } from "vitest";
import type { ModelTable } from "../src/server/client";
import { Question } from "../src/server/question";

const table = (chat: boolean) =>
  ({ models: [{ name: "writer", kind: "generation", chat, labels: [], examples: [] }] }) as unknown as ModelTable;

test("a prompt is a turn of a conversation where the model has a template for one, unless it is not wanted", () => {
  const asked = new Question();
  asked.task.value = "generation";
  asked.table.value = table(true);
  expect(asked.promptRequest().chat).toBe(true);
  asked.chatChoice.value = false;
  expect(asked.promptRequest().chat).toBe(false);
  asked.chatChoice.value = null;
  asked.table.value = table(false);
  expect(asked.promptRequest().chat).toBe(false);
});

test("examples are questions while the prompt is a turn of a conversation, and what was typed stays", () => {
  const asked = new Question();
  const model = (name: string, chat: boolean, text: string) => ({
    name,
    kind: "generation",
    chat,
    examples: [{ text }],
  });
  asked.task.value = "generation";
  asked.table.value = {
    models: [model("a", true, "Once upon"), model("b", true, "Who?"), model("c", false, "Begin")],
  } as unknown as ModelTable;
  const [question] = asked.examples.value;
  expect(question).toMatch(/\?$/);
  asked.prompt.value = question;
  const chat = (on: boolean) => asked.chooseWith(() => (asked.chatChoice.value = on));
  const choose = (generation: string) =>
    asked.chooseWith(() => (asked.model.value = { ...asked.model.value, generation }));
  chat(false);
  expect([asked.examples.value, asked.prompt.value]).toEqual([["Once upon"], "Once upon"]);
  chat(true);
  expect(asked.prompt.value).toBe(question);
  // Questions of its own, and a model without a template.
  choose("b");
  expect(asked.prompt.value).toBe("Who?");
  choose("c");
  expect(asked.prompt.value).toBe("Begin");
  asked.prompt.value = "Mine";
  choose("a");
  expect(asked.prompt.value).toBe("Mine");
});
