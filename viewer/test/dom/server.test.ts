// The page that `attnflow serve` sends: requests, answers and errors. Continuations: prompt.test.ts.
import { describe, expect, test, vi } from "vitest";
import {
  all,
  cells,
  choose,
  click,
  drawn,
  fill,
  file,
  give,
  has,
  idle,
  method,
  one,
  point,
  saved,
  shown,
  text,
  texts,
  until,
  value,
} from "./page";
import { arrayOf, reportOf, withWords } from "./samples";
import { answer, evaluation, PIXEL, type Answer } from "./served";
import { answered, asked, explain, gate, linkTo, serve, task, unfold } from "./server_page";

const picture = (name: string) => new File([Uint8Array.from(atob(PIXEL), (c) => c.charCodeAt(0))], name, { type: "image/png" }); // prettier-ignore
const problem = () => (has("#server-problem") ? text("#server-problem") : "");

describe("a text", () => {
  test("is explained with all three methods at once", async () => {
    const server = await serve();
    expect(value("#ask-text")).toBe("The key [MASK].");
    await fill("#ask-text", "The key to the cabinets [MASK]");
    await explain();
    await answered();
    const [{ body, type }] = server.asks("explain");
    expect(type).toBe("application/json");
    expect(body).toEqual({
      ...{ method: ["raw", "rollout", "flow"], compact: true, model: "masked-model", keep_attention: true },
      text: "The key to the cabinets [MASK]",
    });
    expect(all("#all-methods [data-strip]").map(({ dataset }) => dataset.strip)).toEqual(["raw", "rollout", "flow"]);
    expect(text("#predictions")).toContain("is61%");
  });

  test("its options are asked for by the API's names", async () => {
    const server = await serve();
    await fill("#ask-text", "x".repeat(300));
    await click("#options-button");
    for (const [field, words] of [
      ["pair", "Two"],
      ["candidates", "is, are"],
      ["referents", "key"],
      ["mixing", "relevance"],
      ["target", "are"],
      ["against", "is"],
    ])
      await fill(`#ask-${field}`, words);
    expect(texts("#ask-mixing option")[0]).toMatch(/^auto: relevance where that is quick$/);
    await click('#ask-scores input[value="attnlrp"]');
    await explain();
    await answered();
    expect(server.asks("explain")[0].body).toEqual({
      ...{ method: ["raw", "rollout", "flow", "attnlrp"], compact: true, model: "masked-model", text: "x".repeat(300) },
      ...{ pair: "Two", mixing: "relevance", target: "are", against: "is", candidates: ["is", "are"] },
      referents: ["key"],
    });
  });

  test("the layers' matrices are others in one click, and the paper's attention comes back in another", async () => {
    const server = await serve();
    await explain();
    await answered();
    await fill("#mixing", "alti");
    await until(() => location.hash.includes("alti"));
    const [first, second] = server.asks("explain").map(({ body }) => body);
    expect(second).toMatchObject({ mixing: "alti", text: first.text });
    // The composer still asks as it is set.
    await explain();
    await until(() => !location.hash.includes("alti"));
    expect(server.asks("explain")[2].body.mixing).toBeUndefined();
  });

  test("progress is shown, and cancelling ends the request", async () => {
    const { wait, pass } = gate();
    const server = await serve({ wait });
    await explain();
    await until(() => text("#status-text").includes("Waiting: 1 ahead of this one"));
    await pass(2);
    await until(() => text("#status-text").includes("flow 3 of 10"));
    expect(one("#status progress").getAttribute("max")).toBe("10");
    await click("#cancel");
    await until(() => !has("#status-text"));
    expect([server.asks("explain")[0].left, has("#page"), problem()]).toEqual([true, false, "Canceled."]);
  });

  test("the server's sentences are shown, and what was shown before stays", async () => {
    await serve();
    await explain();
    await answered();
    await fill("#ask-text", "too long");
    await explain();
    await until(() => problem() === "expected at most 512 tokens, found 1000; shorten the text");
    expect(has("#all-methods")).toBe(true);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
    await explain();
    await until(() => problem().includes("does not answer"));
  });

  test("that is too long is said below its field, before it is asked, and can be cut", async () => {
    const server = await serve({ document: (path, body, one) => answer(path, body.truncate ? { ...body, text: "cut" } as never : body, one) }); // prettier-ignore
    await fill("#ask-text", "word ".repeat(200));
    expect(has("#ask-length")).toBe(false);
    await fill("#ask-text", "word ".repeat(300));
    expect(text("#ask-length")).toBe("At least 300 tokens; masked-model takes at most 512.");
    await fill("#ask-text", "word ".repeat(600));
    expect(text("#ask-length")).toMatch(/^Too long: at least 600 tokens; /u);
    expect(one("#cut-text").disabled).toBe(false);
    await fill("#ask-text", "too long");
    await explain();
    await until(() => problem() !== "");
    await click("#cut-text");
    await answered();
    expect([problem(), server.asks("explain")[1].body.truncate]).toEqual(["", true]);
    await until(() => asked()?.truncate === true);
  });

  test("its address explains it again; what an address cannot mean is not asked", async () => {
    await serve();
    await fill("#ask-text", "a & b # c");
    await explain();
    await answered();
    await choose("flow");
    await until(() => location.hash.includes("m=flow"));
    let server = await serve({}, location.hash);
    await answered();
    expect([server.asks("explain")[0].body.text, method()]).toEqual(["a & b # c", "flow"]);
    for (const ask of ["{", "[]", "null", '{"text":1}', `{"text":"${"x".repeat(9000)}"}`]) {
      server = await serve({}, linkTo(ask));
      await drawn();
      expect(server.asks("explain").length, ask.slice(0, 40)).toBe(0);
    }
    await serve({}, "#v=1&ask=%7B%22text%22%3A%22cut");
    await until(() => text("#server-notice").includes("cannot be read"));
  });
});

describe("beside it", () => {
  test("a blanked token: prediction and values side by side", async () => {
    const server = await serve();
    await explain();
    await answered();
    await click('#blank-tokens [data-token="2"]');
    await until(() => has(".predictions-pair"));
    expect(server.asks("explain")[1].body.blank).toEqual([2]);
    expect(text(".predictions-pair")).toContain("blanked");
    // Which token is gone: in the title, in the text, and in the prediction's one heading.
    const second = '.half[data-side="second"]';
    expect([text(`${second} h3`), ...texts(".absent")]).toEqual(["B: rollout, layer 6, without “key”", "key (gone)"]);
    expect(one<HTMLElement>(`${second} .absent`).dataset.token).toBe("2");
    const headings = texts(".predictions-pair h3");
    expect([headings.length, headings[0], headings[2]]).toEqual([
      4,
      expect.stringMatching(/^Prediction \(A\) at /u),
      expect.stringMatching(/^Prediction without “key” at /u),
    ]);
    expect(text(".compare-bar")).toContain("this text without “key”");
    expect(one("#what-if-card").nextElementSibling?.id).toBe("compare-card");
    await idle();
    await click('#blank-tokens [data-token="1"]');
    await until(() => server.asks("explain").length === 3);
    expect(server.asks("explain")[2].body.blank).toEqual([1, 2]);
    for (const left of [1, 0]) {
      await until(() => !has("#status-text"));
      await click("#blank-tokens [aria-pressed=true]");
      await until(() => all("#blank-tokens [aria-pressed=true]").length === left);
    }
    await until(() => !has("#compare-card"));
  });

  test("a click on another candidate explains it, too, next to the target", async () => {
    const others = [
      { label: "was", index: 3, logit: 2 },
      { label: "are", index: 4, logit: 1 },
    ];
    const { settings, ...report } = reportOf("", "short");
    const explaining = (label: string, index: number) => ({
      ...report,
      settings: { ...settings, mixing: "relevance" },
      target: { kind: "masked", label, index, logit: 5, position: 6, against: { label: "", logit: 1.5, others } },
    });
    const server = await serve({
      document: ((_: string, { target }: { target?: string }) =>
        target ? explaining("was", 3) : explaining("is", 2)) as unknown as Answer,
    });
    await fill("#ask-against", "are");
    await explain();
    await answered();
    // The target is what is explained; the classes belong to another prediction.
    expect(texts("#predictions button.candidate")).toEqual(["was", "are", "are"]);
    await click("#predictions button.candidate");
    await until(() => has("#compare-card"));
    const [{ body: first }, { body: second }] = server.asks("explain");
    expect([first.against, second.against, second.target]).toEqual(["are", undefined, "id:3"]);
    expect({ ...second, target: undefined }).toMatchObject({ text: first.text, model: first.model });
    expect(has(".predictions-pair")).toBe(false);
  });

  test("two texts are explained with one press", async () => {
    const server = await serve();
    await click("#add-other");
    await fill("#ask-other", "another");
    expect(text("#explain")).toBe("Explain both");
    await explain();
    await until(() => has("#compare-card"));
    expect(server.asks("explain").map(({ body }) => body.text)).toEqual(["The key [MASK].", "another"]);
    await unfold();
    await click("#drop-other");
    expect([has("#ask-other"), text("#explain")]).toEqual([false, "Explain"]);
  });

  test("another text, or other words for a token", async () => {
    const server = await serve();
    await explain();
    await answered();
    await unfold();
    await fill("#ask-text", "another");
    await click("#compare-ask");
    await until(() => has(".predictions-pair"));
    expect([server.asks("explain")[1].body.text, has(".absent")]).toEqual(["another", false]);
    await fill("#replaced", 2);
    await fill("#instead", "dōr");
    await click("#replace");
    await until(() => server.asks("explain").length === 3);
    const [{ body: first }, , { body: third }] = server.asks("explain");
    expect(third).toMatchObject({ text: String(first.text).replace("key", "dōr") });
    expect(third.blank).toBeUndefined();
  });

  test("what the page cannot compute is asked once the choices rest, and joins what is shown", async () => {
    const server = await serve();
    await explain();
    await answered();
    await choose("flow");
    await fill("#residual", 0.8);
    await fill("#residual", 0.9);
    await until(() => shown("#strip .token")[1] !== null);
    expect(server.asks("explain").length).toBe(2);
    expect(server.asks("explain")[1].body).toMatchObject({ method: ["flow"], residual: 0.9, output_token: 6 });
    expect(shown("#strip .token")[1]).toBeCloseTo(0.89, 2);
  });

  test("of long texts it is asked with a button, and at once where a link shows it", async () => {
    const document: Answer = (_, body) => {
      const report = reportOf("", "long");
      report.settings.residual = (body.residual as number | undefined) ?? report.settings.residual;
      return report;
    };
    let server = await serve({ document });
    await explain();
    await answered();
    await choose("flow");
    await fill("#residual", 0.9);
    expect(text("#ask-server")).toBe("Compute on the server");
    await click("#ask-server");
    await until(() => shown("#strip .token")[1] !== null);
    expect(server.asks("explain").length).toBe(2);
    await until(() => location.hash.includes("r=0.9"));
    server = await serve({ document }, location.hash);
    await answered();
    await until(() => shown("#strip .token")[1] !== null);
    expect(server.asks("explain").map(({ body }) => body.residual)).toEqual([undefined, 0.9]);
    // The link was followed: what is chosen now has the button.
    await fill("#residual", 0.7);
    expect(text("#ask-server")).toBe("Compute on the server");
  });

  test("what is refused is not asked again and again, and other work is not ended", async () => {
    const refuse: Answer = (path, body, one) => {
      if (body.residual !== 0.9) return answer(path, body, one);
      throw { status: 422, kind: "unsupported_model", message: "expected something else, found this" };
    };
    const server = await serve({ document: refuse });
    await explain();
    await answered();
    await choose("flow");
    await click("#evaluate");
    await fill("#residual", 0.9);
    await until(() => has("#agreement-table") && problem().includes("expected something else"));
    await idle();
    expect([server.asks("evaluate")[0].left, server.asks("explain").length]).toEqual([false, 2]);
  });

  test("whole words and all pairs are asked for as such", async () => {
    const pieces = withWords(reportOf("", "arabic"));
    const words = pieces.input.tokens.filter((token) => !token.text.startsWith("##"));
    const document: Answer = (_, body) => {
      const report = structuredClone(pieces);
      delete report.arrays.flow;
      if (!body.words) return report;
      const rows = body.output_token === "all" ? [...words.keys()] : [2];
      report.settings.words = true;
      report.input.tokens = words;
      report.flow_output_tokens = rows;
      const shape = [6, rows.length, words.length];
      report.arrays = { flow: arrayOf(shape, Array(shape[0] * shape[1] * shape[2]).fill(0.25)) };
      return report;
    };
    const server = await serve({ document });
    await explain();
    await answered();
    await click("#words");
    await click('#strip [data-token="2"]');
    await choose("flow");
    await until(() => shown("#strip .token")[1] === 0.25);
    // The third word is the fourth piece.
    expect(server.asks("explain")[1].body).toMatchObject({
      ...{ words: true, keep_attention: false, output_token: 3, method: ["flow"] },
    });
    expect(text('[data-setting="Numbers"]')).toContain("by the server");
    expect(text("#matrix-missing")).toMatch(/flow was computed for the output token .* only/);
    await click("#ask-all-pairs");
    await until(() => has("#matrix svg"));
    expect(server.asks("explain")[2].body).toMatchObject({ words: true, output_token: "all" });
    expect(text("#page main")).not.toMatch(/--[a-z]/u);
  });
});

describe("a picture", () => {
  test("is explained when it is chosen, dropped or pasted", async () => {
    const server = await serve();
    await task("image");
    await give("#picture-file", picture("one.png"));
    await answered();
    const [{ type, query, body }] = server.asks("image");
    expect([type, (body as Blob).size]).toEqual(["image/png", atob(PIXEL).length]);
    expect(query).toEqual({ method: "raw,rollout,flow", model: "pictures", name: "one.png", compact: "true" });
    for (const [name, key] of [
      ["drop", "dataTransfer"],
      ["paste", "clipboardData"],
    ]) {
      const event = new Event(name, { bubbles: true, cancelable: true });
      Object.defineProperty(event, key, { value: { files: [picture(`${name}.png`)], types: ["Files"], items: [] } });
      window.document.body.dispatchEvent(event);
      await until(() => has("#picture-sent") && text("#picture-sent").includes(`${name}.png`));
      await answered();
    }
    expect(server.asks("image").map(({ query: { name } }) => name)).toEqual(["one.png", "drop.png", "paste.png"]);
    await unfold();
    await give("#picture-file", file("no", "no.txt"));
    await until(() => problem().includes("found no.txt"));
    expect(server.asks("image").length).toBe(3);
  });

  test("its link says what it cannot hold, and asks for the picture when it is opened", async () => {
    await serve();
    await task("image");
    await give("#picture-file", picture("one.png"));
    await answered();
    expect(text("#link-button")).toMatch(/^Copy link without the picture/);
    await choose("raw");
    await until(() => location.hash.includes("m=raw"));
    const { hash } = location;
    sessionStorage.clear();
    const server = await serve({}, hash);
    await until(() => text("#picture-wanted").includes("one.png"));
    expect([value("#tasks input:checked"), has("#page")]).toEqual(["image", false]);
    await give("#picture-file", picture("one.png"));
    await answered();
    expect([has("#picture-wanted"), method(), server.asks("image").length]).toEqual([false, "raw", 1]);
  });

  test("stays through a reload; an example's link brings it, and its name alone does not", async () => {
    await serve();
    await task("image");
    await give("#picture-file", picture("one.png"));
    await answered();
    await until(() => sessionStorage.getItem("attnflow-picture")?.includes("one.png"));
    await serve({}, location.hash);
    await answered();
    expect([has("#picture-wanted"), text("#picture-sent")]).toEqual([false, expect.stringContaining("one.png")]);

    let server = await serve();
    await task("image");
    expect(text("#picture-examples button").trim()).toBe("ankle boot");
    await click("#picture-examples button");
    await answered();
    const [{ query, body }] = server.asks("image");
    expect([query.name, body.size]).toEqual(["ankle boot.png", atob(PIXEL).length]);
    expect(text("#link-button")).not.toContain("without");
    sessionStorage.clear();
    server = await serve({}, location.hash);
    await answered();
    expect(server.asks("image").length).toBe(1);
    await unfold();
    await give("#picture-file", picture("ankle boot.png"));
    await until(() => server.asks("image").length === 2 && !location.hash.includes("example"));
    await answered();
    sessionStorage.clear();
    server = await serve({}, location.hash);
    await until(() => has("#picture-wanted"));
    expect(server.asks("image").length).toBe(0);
  });
});

describe("models and tasks", () => {
  test("a model says what it is for, and takes its example along", async () => {
    await serve();
    expect(text("#model-help")).toMatch(/^Predicts the token at \[MASK\]\. bert, 6 layers × 12 heads/u);
    await fill("#model-choice", "classifier");
    expect(value("#ask-text")).toBe("The keys to the cabinet");
    expect(text("#model-help")).toMatch(/^Classifies texts: singular, plural\. /u);
  });

  test("each task has its own report and its own problem", async () => {
    const server = await serve();
    await fill("#ask-text", "too long");
    await explain();
    await until(() => problem().includes("shorten the text"));
    await task("generation");
    expect(problem()).toBe("");
    await task("text");
    expect(problem()).toContain("shorten the text");
    await fill("#ask-text", "A text");
    await explain();
    await answered();
    expect(problem()).toBe("");
    await choose("flow");
    await task("image");
    await task("text");
    expect(method()).toBe("flow");
    await task("generation");
    expect([has("#page"), has("#welcome")]).toEqual([false, true]);
    await click("#continue");
    await until(() => has("#heat-card"));
    await task("image");
    expect(has("#page")).toBe(false);
    // Each comes back as it was, and nothing is asked again.
    await task("text");
    expect([has("#all-methods"), method()]).toEqual([true, "flow"]);
    await task("generation");
    await until(() => has("#generated"));
    expect([server.asks("generate").length, server.asks("explain").length]).toEqual([1, 2]);
  });

  const without =
    (change: (report: ReturnType<typeof reportOf>) => unknown): Answer =>
    (path, body, one) => {
      const report = answer(path, body, one) as ReturnType<typeof reportOf>;
      change(report);
      return report;
    };

  test.each([
    {
      model: "encoder",
      says: "a sentence encoder predicts nothing: no card says that it does",
      change: (report: object) => Reflect.deleteProperty(report, "predictions"),
      then: async () => {
        expect(has("#agreement-card")).toBe(false);
        await click("#blank-tokens button");
        await until(() => has("#compare-readout"));
        expect(has(".predictions-pair")).toBe(false);
      },
    },
    {
      model: "writer",
      says: "a decoder without gradients has nothing to blank and nothing to score",
      change: (report: ReturnType<typeof reportOf>) => (report.model.causal = true),
      then: () => Promise.resolve(expect(has("#agreement-card, #blank-tokens")).toBe(false)),
    },
    {
      model: "masked-model",
      says: "a text without a mask says what it lacks",
      change: (report: object) => Reflect.deleteProperty(report, "predictions"),
      then: () => {
        expect(one("#evaluate").disabled).toBe(true);
        return Promise.resolve(expect(text("#evaluation-reason")).toMatch(/^The text has no \[MASK\], so /u));
      },
    },
  ])("$says", async ({ model, change, then }) => {
    await serve({ document: without(change) });
    await fill("#model-choice", model);
    await explain();
    await answered();
    await then();
  });

  test("the server's token is asked for, kept for the tab, and sent with every request", async () => {
    let server = await serve({ token: "secret" });
    expect([has("#login"), has("#composer")]).toEqual([true, false]);
    one("#token").value = "secret";
    await click("#login button");
    await until(() => has("#composer"));
    await explain();
    await answered();
    expect(server.asks("explain")[0].authorization).toBe("Bearer secret");
    await serve({ token: "secret" });
    expect(has("#composer")).toBe(true);
    sessionStorage.clear();
    server = await serve({ token: "secret" }, "#token=secret");
    expect([location.hash, has("#composer")]).toEqual(["", true]);
    // A link waits for it with all that it names.
    sessionStorage.clear();
    server = await serve({ token: "secret" }, linkTo({ text: "The key", model: "classifier" }));
    one("#token").value = "secret";
    await click("#login button");
    await answered();
    expect(server.asks("explain").map(({ body }) => [body.model, body.text])).toEqual([["classifier", "The key"]]);
    expect(text("#server-notice")).toBe("");
  });
});

describe("do the methods agree with blank-out", () => {
  test("a table by layer, the scores on the text, and a file of both", async () => {
    const { wait, pass, waiting } = gate();
    let holds = false;
    const server = await serve({ wait: () => (holds ? wait() : undefined) });
    await explain();
    await answered();
    expect([text("#agreement-heading"), server.asks("evaluate").length]).toEqual(["Faithfulness check (blank-out)", 0]);
    holds = true;
    await click("#evaluate");
    await pass(2);
    await until(() => waiting.length > 0 && text("#evaluation-progress").includes("blank-out 3 of 10"));
    holds = false;
    await pass();
    await until(() => has("#agreement-table"));
    expect(server.asks("evaluate")[0].body).toEqual({ model: "masked-model", text: "The key [MASK]." });
    const expected = evaluation();
    expect(all("#agreement-table td").length).toBe(expected.correlations.length);
    for (const { score, tokens, method, layer, spearman } of expected.correlations) {
      const place = `[data-score="${score}"][data-tokens="${tokens}"][data-method="${method}"][data-layer="${layer}"]`;
      const cell = one<HTMLElement>(`#agreement-table td${place}`);
      expect([cell.dataset.value, cell.textContent], place).toEqual(
        spearman === null ? ["", "–"] : [String(spearman), spearman.toFixed(2).replace("-", "−")],
      );
    }
    const nearest = all("#agreement-table .nearest").map(({ dataset }) => dataset.method);
    expect(nearest.sort()).toEqual(["flow", "flow", "raw", "raw"]);
    expect(text("#agreement-summary")).toMatch(/blank-out.*flow, layer 2 \(ρ = 0\.60\)/);
    expect(text("#agreement-card")).toContain("A note of the evaluation.");
    for (const { name, values } of expected.scores)
      expect(shown(`#scores [data-strip="${name}"] .token`).map((value) => value ?? 0)).toEqual(values);
    await point('#scores [data-strip="gradient"] [data-token="2"]');
    expect(one('#strip [data-token="2"]').className).toContain("pointed");
    const rows = cells(await saved("agreement", "csv"));
    expect([Object.keys(rows[0]).join(), rows.length]).toEqual([
      "score,tokens,count,method,layer,spearman",
      expected.correlations.length,
    ]);
    // Another text has not been evaluated.
    await unfold();
    await fill("#ask-text", "another");
    await explain();
    await until(() => !has("#agreement-table"));
  });

  test("a model that cannot is told where it was asked", async () => {
    const server = await serve();
    await fill("#model-choice", "classifier");
    await explain();
    await answered();
    await click("#evaluate");
    await until(() => has("#evaluation-problem"));
    expect([text("#evaluation-problem"), problem()]).toEqual(["expected a model with a head, found none", ""]);
    expect([server.asks("evaluate").length, one("#evaluate").disabled]).toEqual([1, false]);
  });
});

test("a link to a model that is gone takes another, and says so in its own task only", async () => {
  for (const [ask, own, path, model] of [
    [{ text: "The key", model: "gone", candidates: "a, b" }, "text", "explain", "masked-model"],
    [{ prompt: "Once", model: "gone" }, "generation", "generate", "writer"],
  ] as const) {
    const server = await serve({}, linkTo(ask, "&m=raw"));
    await answered();
    await idle();
    expect([server.asks(path).length, asked()?.model, method()]).toEqual([1, model, "raw"]);
    expect(text("#server-notice")).toContain("“gone”, which this server does not have");
    await task("image");
    expect(text("#server-notice")).toBe("");
    await task(own);
    expect(text("#server-notice")).toContain("“gone”");
    expect(server.asks(path).length).toBe(1);
  }
});

test("a reload keeps what was typed since, and asks the link's text again", async () => {
  await serve();
  await fill("#ask-text", "the first text");
  await explain();
  await answered();
  await unfold();
  await fill("#ask-text", "a draft that nobody sent");
  const server = await serve({}, location.hash);
  await answered();
  expect(server.asks("explain").at(-1)?.body.text).toBe("the first text");
  expect(text(".asked")).toContain("the first text");
  await unfold();
  expect(value("#ask-text")).toBe("a draft that nobody sent");
});
