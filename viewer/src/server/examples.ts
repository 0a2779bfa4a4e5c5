// Example inputs, from the server's list of models.
import type { Example, PictureExample, ServedModel, TextExample } from "./client";

const isPicture = (example: Example): example is PictureExample => "data" in example;

/** For a model with a chat template: text beginnings do not start a conversation. */
const QUESTIONS = ["What is the capital of France?", "Why is the sky blue?", "Who wrote Hamlet, and when?"];

/** @param chat whether they are turns of a conversation */
export function textsOf(model: ServedModel | null, chat = false): string[] {
  const texts = (model?.examples ?? []).filter((one): one is TextExample => !isPicture(one)).map(({ text }) => text);
  return chat && !texts.some((text) => text.endsWith("?")) ? QUESTIONS : texts;
}

export const picturesOf = (model: ServedModel | null): PictureExample[] => (model?.examples ?? []).filter(isPicture);

export const addressOf = ({ type, data }: PictureExample) => `data:${type};base64,${data}`;

const fileName = ({ name, type }: PictureExample) => `${name}.${type.replace("image/", "")}`;

/** The example as a file, as if chosen from disk. */
export function fileOf(example: PictureExample): File {
  const bytes = Uint8Array.from(atob(example.data), (character) => character.charCodeAt(0));
  return new File([bytes], fileName(example), { type: example.type });
}

/** The example with this file name. */
export const exampleFile = (model: ServedModel | null, name: string): File | undefined =>
  picturesOf(model)
    .filter((one) => fileName(one) === name)
    .map(fileOf)[0];
