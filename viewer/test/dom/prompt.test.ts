// Continuations in the page that `attnflow serve` sends: tokens, options, links, and broken connections.
import { describe, expect, test } from "vitest";
import {
  all,
  check,
  checked,
  choose,
  click,
  drawn,
  fill,
  has,
  idle,
  method,
  near,
  one,
  press,
  shown,
  text,
  texts,
  tokens,
  until,
  value,
} from "./page";
import { arrayOf, Numbers, reportOf } from "./samples";
import { answer, stream, type Answer } from "./served";
import { answered, asked, explain, gate, isBusy, linkTo, serve, task } from "./server_page";

type Stream = ReturnType<typeof stream>;
const step = () => text("#step");
const said = (count: number) => until(() => all("#generated .token").length === count);
const problem = () => (has("#server-problem") ? text("#server-problem") : "");
const answering =
  (report: object): Answer =>
  (path, body, one) =>
    path === "generate" ? report : answer(path, body, one);

/** A page whose generation has ended. */
async function generated({ report, steps }: Stream, fragment = "") {
  const server = await serve({ steps, document: answering(report) }, fragment);
  await task("generation");
  await click("#continue");
  await until(() => has("#heat-card"));
  await answered();
  return server;
}

/** A generation that stops after each event until `pass()`. */
async function held() {
  const { report, steps } = stream();
  const { wait, pass, waiting } = gate();
  const server = await serve({ steps, hold: wait, document: answering(report) });
  await task("generation");
  await click("#continue");
  return { server, pass, waiting, report, last: steps.length - 2 };
}

describe("a long text of a decoder", () => {
  test("is asked for its last token's rows, unless all tokens are wanted or other settings need them", async () => {
    const server = await serve({ document: () => reportOf("", "long") });
    await fill("#model-choice", "writer");
    await fill("#ask-text", "word ".repeat(500));
    expect(has("#long-text")).toBe(false);
    await fill("#ask-text", "word ".repeat(700));
    expect(text("#long-text")).toContain("only its last token is explained");
    await explain();
    await answered();
    const last = () => server.asks("explain").at(-1)!.body;
    expect(last()).toMatchObject({ only_output_token: true, method: ["raw", "rollout"] });
    await until(() => asked()?.only_output_token === true);
    // Other settings need all tokens.
    await choose("flow");
    await fill("#residual", 0.3);
    await click("#ask-server");
    await answered();
    expect(last().only_output_token).toBe(true);
    await fill("#discard", 0.5);
    await click("#ask-server");
    await until(() => last().discard === 0.5);
    expect(last()).not.toHaveProperty("only_output_token");
    // So does who wants them.
    await click("#edit");
    await click("#ask-all-tokens");
    expect(text("#long-text")).toContain("takes minutes");
    await explain();
    await until(() => asked() && !asked()?.only_output_token);
    expect(last()).not.toHaveProperty("only_output_token");
    await click("#edit");
    await click("#ask-all-tokens");
    expect(text("#long-text")).toContain("only its last token is explained");
    // Contributions need the matrices.
    await click("#options-button");
    await fill("#ask-mixing", "alti");
    expect(text("#long-text")).toContain("takes minutes");
  });
});

describe("a prompt", () => {
  test("is continued token by token, and then explained", async () => {
    const words = ["Once", " upon", " a", " time"];
    // A server that does not say what tokens drew on as they come.
    const steps = [{ text: "Begin", tokens: [], layers: [1] }, ...words.map((text, index) => ({ index, text }))];
    const { wait, pass, waiting } = gate();
    const server = await serve({ steps, hold: wait, chat: true });
    await task("generation");
    // On where the model has a template, and in sight; so are questions then, and else beginnings of texts.
    expect([checked("#ask-chat"), value("#ask-prompt")]).toEqual([true, expect.stringMatching(/\?$/u)]);
    await click("#ask-chat");
    expect(value("#ask-prompt")).toBe("Once upon");
    await click("#ask-chat");
    await fill("#ask-prompt", "Begin");
    await click("#sampling-button");
    await fill("#ask-tokens", 4);
    await fill("#ask-temperature", 0.5);
    await fill("#ask-system", "Be brief.");
    await click("#continue");
    await pass();
    for (const k of words.keys()) {
      await until(() => text("#generated .line") === words.slice(0, k + 1).join(""));
      if (k < words.length - 1) await pass();
    }
    await until(() => waiting.length > 0);
    await pass();
    await until(() => has("#rank"));
    expect(server.asks("generate")[0].body).toEqual({
      ...{ model: "writer", prompt: "Begin", method: ["raw", "rollout"], tokens: 4, chat: true, system: "Be brief." },
      ...{ temperature: 0.5, top_p: 1, seed: 1, generated_columns: true, compact: true },
    });
  });

  test("its options are asked for by the API's names; wrong ones are said in the page", async () => {
    const refuse: Answer = (path, body, one) => {
      if (body.tokens) return answer(path, body, one);
      throw { status: 400, kind: "bad_request", message: "tokens: expected a number of at least 1, found 0" };
    };
    const server = await serve({ document: refuse });
    await task("generation");
    expect(has("#ask-chat")).toBe(false);
    await click("#sampling-button");
    expect(has("#ask-seed")).toBe(false);
    await click('#ask-methods input[value="flow"]');
    for (const other of ["raw", "rollout"]) await check(`#ask-methods input[value="${other}"]`, false);
    // One is left.
    expect(one('#ask-methods input[value="flow"]').disabled).toBe(true);
    await fill("#ask-layers", "1-2");
    await click("#ask-mask-first");
    await fill("#ask-tokens", 0);
    await click("#continue");
    await until(() => problem().includes("at least 1, found 0"));
    await fill("#ask-tokens", 40);
    await click("#continue");
    await until(() => has("#heat-card"));
    expect(server.asks("generate")[1].body).toEqual({
      ...{ model: "writer", prompt: "Once upon", method: ["flow"], tokens: 40, chat: false, temperature: 0 },
      ...{ mask_columns: "first", layers: "1-2", generated_columns: true, compact: true },
    });
  });

  test("its link runs it again, with the same options and what was chosen", async () => {
    const { report, steps } = stream();
    let server = await serve({ steps, document: answering(report) });
    await task("generation");
    await fill("#ask-prompt", "a & b # c");
    await click("#sampling-button");
    await fill("#ask-temperature", 0.5);
    await fill("#ask-top-p", 0.9);
    await fill("#ask-seed", 77);
    await click("#continue");
    await until(() => has("#heat-card"));
    await choose("flow");
    await click('#generated [data-token="1"]');
    await click("#look-button");
    await click('#palettes input[value="grey"]');
    await until(() => /t=1/u.test(location.hash) && /p=grey/u.test(location.hash));
    const { hash } = location;
    const { body } = server.asks("generate")[0];
    expect(body.seed).toBe(77);
    const { wait, pass } = gate();
    server = await serve({ steps, document: answering(report), hold: wait }, hash);
    await pass();
    await until(() => text("#status-text").includes("Restoring, with its seed 77"));
    await pass(steps.length - 1);
    await until(() => has("#map-card"));
    expect([server.asks("generate").map((one) => one.body), value("#ask-prompt")]).toEqual([[body], "a & b # c"]);
    await click("#look-button");
    expect([method(), checked('#palettes input[value="grey"]'), step(), location.hash]).toEqual([
      ...["flow", true, `2 of ${steps.length - 1}`, hash],
    ]);
    // The page does not ask what an address cannot mean.
    const ask = { prompt: "p", tokens: "many", method: ["x"], temperature: "hot", layers: 7 };
    server = await serve({ steps, document: answering(report) }, linkTo(ask));
    await until(() => has("#heat-card"));
    expect(server.asks("generate")[0].body).toMatchObject({ prompt: "p", tokens: 40, temperature: 0 });
    expect(server.asks("generate")[0].body.layers).toBeUndefined();
  });

  test.each([
    [4, undefined, "the connection to the server broke before its answer was complete", 3],
    [3, { kind: "time_limit", message: "expected at most 60 s" }, "expected at most 60 s", 2],
    [1, { kind: "internal", message: "a sentence" }, "a sentence", 0],
  ])("that breaks off after %i events says why, and keeps what came", async (after, error, sentence, count) => {
    const { wait, pass } = gate();
    const { steps } = stream();
    // A connection that breaks takes with it what the page has not read yet.
    await serve({ steps, breaks: { after, error }, hold: (said) => said === after && wait() });
    await task("generation");
    await click("#continue");
    await said(count);
    await pass();
    await until(() => (count ? has("#failure") && text("#failure") : problem()) && !has("#status-text"));
    expect(count ? text("#failure") : problem()).toContain(sentence);
    expect([all("#generated .token").length, has("#page")]).toEqual([count, count > 0]);
    if (!count) return;
    expect([problem(), isBusy()]).toEqual(["", false]);
    expect(one("#methods label").title).toContain("ended before its report");
    await click("#previous");
    expect(step()).toBe(`${count - 1} of ${count}`);
  });

  test("of one token, continued by one, and by a special one at the end", async () => {
    const { report, steps } = stream();
    const { tokens: pieces } = report.generation;
    pieces[pieces.length - 1].special = steps[steps.length - 1].special = true;
    await generated({ report, steps });
    expect([step(), text("#heading")]).toEqual([
      `1 of ${pieces.length}`,
      expect.stringMatching(/^“.*”, [\d.]+%(, rather than “.*)?: rollout ranks /su),
    ]);
    const only = {
      ...report,
      settings: { ...report.settings, method: ["rollout"], layers: [1] },
      input: { ...report.input, text: "Hi", tokens: [{ text: "Hi", begin: 0, end: 2 }] },
      ...{ output_token: 0, output_tokens: [0], flow_output_tokens: [], flow_layers: [] },
      arrays: { rollout: arrayOf([1, 1, 1], [1]) },
      generation: { ...report.generation, text: "!", tokens: [{ ...pieces[0], text: "!", begin: 0, end: 1 }] },
    };
    const events = [
      { ...steps[0], text: "Hi", tokens: only.input.tokens, layers: [1] },
      { index: 0, text: "!", piece: "!", special: false, probability: 0.5, choices: [], rollout: [1] },
    ];
    await serve({ steps: events, document: () => only });
    await task("generation");
    await click("#continue");
    await until(() => has("#map-card"));
    expect([step(), text("#model")]).toEqual(["1 of 1", expect.stringMatching(/1 prompt token · 1 generated$/)]);
    for (const control of ["#previous", "#play", "#next", "#token"]) expect(one(control).disabled, control).toBe(true);
  });

  test("an alternative continues it otherwise, and both stay beside each other", async () => {
    const { report, steps } = stream();
    // The other branch: the second token is the runner-up, and so are the tokens after it.
    for (const [t, token] of report.generation.tokens.entries()) {
      token.id = 1000 + t;
      for (const [k, choice] of token.choices.entries()) choice.id = choice.label === token.text ? token.id : 2000 + k;
    }
    const other = structuredClone(report);
    other.generation.given = 2;
    for (const token of other.generation.tokens.slice(1)) token.id += 500;
    other.generation.tokens[1].probability = 0.125;
    const server = await serve({ steps, document: (_, body) => (body.begin_with ? other : report) });
    await task("generation");
    await click("#continue");
    await until(() => has("#heat-card"));
    expect(has("#branches-card")).toBe(false);
    await click('#generated [data-token="1"]');
    expect(text("#choices-help")).toContain("Click an alternative");
    const { id } = report.generation.tokens[1].choices.find((choice) => choice.id! >= 2000)!;
    await click("#choices button.branch");
    await until(() => texts("#branches-card li")[1]?.includes("12.5%, mean"));
    expect(server.asks("generate")[1].body.begin_with).toEqual([1000, id]);
    expect(text("#branches-heading")).toMatch(/generated token 2$/u);
    const current = () => all("#branches-card li").map((row) => row.getAttribute("aria-current"));
    expect([texts("#branches-card li")[1].includes("generating"), current()[1]]).toEqual([false, "true"]);
    await until(() => String(asked()?.begin_with) === `1000,${id}`);
    await click("#branches-card li:first-child button");
    expect([current()[0], server.asks("generate").length]).toEqual(["true", 2]);
    await click("#branches-card li:last-child button");
    await click('#generated [data-token="1"]');
    expect(text("#choices-help")).toContain("was given");
  });

  test("the prompt is coloured by what the newest token drew on, and the report takes over in place", async () => {
    const { pass, report, last } = await held();
    const numbers = new Numbers(report);
    const drew = (token: number) => near(shown("#prompt .token"), numbers.row("rollout", token), 1e-3);
    await until(() => text("#prompt").includes("What do people"));
    await pass();
    for (const t of [0, 1, 2]) {
      await said(t + 1);
      await drawn();
      drew(t);
      expect(tokens('#generated [aria-selected="true"]')).toEqual([t]);
      await pass();
    }
    // Every token can be chosen while others come, and stays so.
    await said(4);
    await click('#generated [data-token="1"]');
    drew(1);
    await pass();
    await said(5);
    drew(1);
    expect([step(), text("#choices-help")]).toEqual([
      "2 of 5",
      expect.stringContaining("Probability of the chosen token"),
    ]);
    // One layer is not known yet.
    await press("[");
    expect([one("#layers").disabled, value("#layers"), has("#heat-card")]).toEqual([true, "all", false]);
    expect(one('#methods input[value="flow"]').disabled).toBe(true);
    // A prompt's token set aside stays so as well.
    await click('#prompt [data-token="3"]', { ctrlKey: true });
    await pass(last - 4);
    await said(last + 1);
    await click(`#generated [data-token="${last}"]`);
    const looks = () => all("#text-strips .token").map(({ textContent, className }) => [textContent, className]);
    const [before, element] = [looks(), one('#prompt [data-token="5"]')];
    expect(isBusy()).toBe(true);
    await pass();
    await until(() => has("#heat-card"));
    await idle();
    expect([isBusy(), looks(), element.isConnected, one("#layers").disabled]).toEqual([false, before, true, false]);
    drew(last);
    expect(one('#prompt [data-token="3"]').className).toContain("excluded");
  });

  test("one that is asked before the first token of another, and fails, leaves what was there before both", async () => {
    const { report, steps } = stream();
    const { wait, waiting } = gate();
    let holds = true;
    const document: Answer = (_, body) => {
      if (body.layers === "99") throw { status: 400, kind: "bad_request", message: "expected layers up to 2" };
      return report;
    };
    const server = await serve({ steps, hold: () => holds && wait(), document });
    await task("generation");
    const layers = async (of: string) => {
      if (!has("#ask-layers")) await click("#sampling-button");
      await fill("#ask-layers", of);
    };
    /** Continues a prompt that gets no token. */
    const begin = async (words: string) => {
      const { length } = server.asks("generate");
      await layers("");
      await fill("#ask-prompt", words);
      await click("#continue");
      await until(() => waiting.length > 0 && text("#heading").includes("Generating"));
      waiting.length = 0;
      expect(server.asks("generate").length).toBe(length + 1);
    };
    const refused = async () => {
      await layers("99");
      await click("#continue");
      await until(() => problem().includes("expected layers up to 2"));
    };
    // Nothing was there before.
    await begin("one");
    await refused();
    expect(has("#page")).toBe(false);
    await begin("two");
    await begin("three");
    await click("#cancel");
    await until(() => has("#welcome"));
    // A report was.
    holds = false;
    await layers("");
    await click("#continue");
    await until(() => has("#heat-card"));
    holds = true;
    for (const end of [refused, () => click("#cancel")]) {
      if (has("#edit")) await click("#edit");
      await begin("four");
      await begin("five");
      await end();
      await until(() => has("#heat-card"));
      expect(text("#heading")).not.toMatch(/Generating|ended early/);
      expect(isBusy()).toBe(false);
    }
  });

  test("a generation that is discarded leaves nothing, and the server hears of it", async () => {
    const { server, pass } = await held();
    await pass();
    await said(1);
    await pass();
    await said(2);
    expect([text("#status-text"), text("#cancel")]).toEqual([
      expect.stringMatching(/^Generating: token 2 of 40/u),
      expect.stringContaining("Discard"),
    ]);
    await click("#cancel");
    await until(() => has("#welcome"));
    expect([server.asks("generate")[0].left, has("#page")]).toEqual([true, false]);
  });

  test("a generation that is stopped is finished with the tokens so far", async () => {
    const { server, pass } = await held();
    expect(has("#stop")).toBe(false);
    await pass();
    await said(1);
    await click("#stop");
    expect(one("#stop").disabled).toBe(true);
    await until(() => server.asks("stop").length > 0);
    const [{ stopId, left }] = server.asks("generate");
    expect([stopId, server.asks("stop")[0].body]).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/u),
      { stop_id: stopId },
    ]);
    await pass();
    await until(() => has("#heat-card"));
    expect([has("#stop, #failure"), left]).toEqual([false, false]);
  });

  test("leaves the address of another task alone while it comes", async () => {
    const { report, steps } = stream();
    const { wait, pass } = gate();
    await serve({ steps, hold: wait, document: answering(report) });
    await task("generation");
    one("#continue").click();
    one('#tasks input[value="text"]').click();
    await pass();
    await drawn();
    expect([asked(), value("#tasks input:checked")]).toEqual([null, "text"]);
    await task("generation");
    await said(1);
  });

  test("may be in a frame without a history", async () => {
    const { report, steps } = stream();
    await serve({ steps, document: answering(report) });
    const refuse = () => {
      throw new DOMException("no history here", "SecurityError");
    };
    const kept = [history.pushState, history.replaceState];
    [history.pushState, history.replaceState] = [refuse, refuse];
    try {
      await task("generation");
      await click("#continue");
      await until(() => has("#heat-card"));
      expect([problem(), value("#tasks input:checked")]).toEqual(["", "generation"]);
    } finally {
      [history.pushState, history.replaceState] = kept;
    }
  });
});
