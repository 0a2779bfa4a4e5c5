// The composer's requests, beyond the typed text.
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

const writer = (name: string, chat: boolean, text: string) => ({
  ...{ name, kind: "generation", chat, labels: [], methods: [], mixings: [], examples: [{ text }] },
});
const tableOf = (...models: object[]) => ({ models, default: {}, limits: {} }) as unknown as ModelTable;

test("examples are questions while the prompt is a turn of a conversation, and what was typed stays", () => {
  const asked = new Question();
  asked.begin(tableOf(writer("a", true, "Once upon"), writer("b", true, "Who?"), writer("c", false, "Begin")));
  expect(asked.task.value).toBe("generation");
  const [question] = asked.examples.value;
  expect(question).toMatch(/\?$/);
  expect(asked.prompt.value).toBe(question);
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

test("an example that was asked, or picked, stays when another model is chosen to say something about it", () => {
  const text = (name: string, ...texts: string[]) => ({
    ...writer(name, false, ""),
    ...{ kind: "text", head: "classification", examples: texts.map((one) => ({ text: one })) },
  });
  const asked = new Question();
  asked.begin(tableOf(text("a", "One", "Two"), text("b", "Three")));
  const choose = (name: string) => asked.chooseWith(() => (asked.model.value = { ...asked.model.value, text: name }));
  choose("b");
  expect(asked.text.value).toBe("Three");
  expect(asked.request()).toMatchObject({ model: "b", text: "Three" });
  choose("a");
  expect(asked.request()).toMatchObject({ model: "a", text: "Three" });
  asked.text.value = asked.keep("Two");
  choose("b");
  expect(asked.text.value).toBe("Two");
});

test("the page opens on the first model of the table, which is the one that the server was started with", () => {
  const text = { ...writer("reader", false, "Read"), kind: "text" };
  const picture = { ...writer("eye", false, ""), kind: "image", examples: [] };
  const open = (...models: object[]) => {
    const asked = new Question();
    asked.begin(tableOf(...models));
    return [asked.task.value, asked.chosen.value?.name];
  };
  expect(open(text, picture, writer("w", false, "Go on"))).toEqual(["text", "reader"]);
  expect(open(picture, text)).toEqual(["image", "eye"]);
  expect(open(writer("w", false, "Go on"), text, picture)).toEqual(["generation", "w"]);
});
