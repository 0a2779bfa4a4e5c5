// node viewer/pictures.mjs [NAME ...]
//
// Makes the pictures of docs/viewer.md: reports written by attnflow, and its server, shown by the built viewer (npm run
// build) in Chromium, 1,200 pixels wide. Without names, all of them.
//
// Needs the program ($ATTNFLOW or build/release/bin/attnflow), what tests/browser needs, and the models in .cache/models
// ($ATTNFLOW_MINILM_DIR, $ATTNFLOW_SMOLLM2). $ATTNFLOW_PICTURES: another folder than docs/images.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startBrowser } from "../tests/browser/browser.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const attnflow = resolve(process.env.ATTNFLOW ?? join(root, "build/release/bin/attnflow"));
const folder = resolve(process.env.ATTNFLOW_PICTURES ?? join(root, "docs/images"));
const minilm = resolve(process.env.ATTNFLOW_MINILM_DIR ?? join(root, ".cache/models/minilm"));
const smollm2 = resolve(
  process.env.ATTNFLOW_SMOLLM2 ?? join(root, ".cache/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
);
const wanted = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "attnflow-pictures-"));
const MOST_BYTES = 250_000;

const SENTENCE = "The author talked to Sara about her book, and although it was late she asked how it would end.";
const PROMPT = "Rome, Paris and Berlin are large cities in Europe. The capital of France is";

function run(program, ...options) {
  const done = spawnSync(program, options, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 30 });
  if (done.status !== 0)
    throw new Error(`${basename(program)} ${options.join(" ")}: ${done.error?.message ?? done.stderr}`);
}

const assemble = (json, html, ...mode) => run(process.execPath, join(root, "viewer/assemble.mjs"), json, html, ...mode);

/** The address of a page with the report that attnflow writes with these options. */
function page(name, ...options) {
  const [json, html] = [join(scratch, `${name}.json`), join(scratch, `${name}.html`)];
  run(attnflow, ...options, "-o", json);
  assemble(json, html);
  return pathToFileURL(html).href;
}

/** Opens a page, lets `act` do what the picture is to show, and takes it: of a card, or of the window. */
async function picture(browser, name, url, options = {}) {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const {
    width = 1200,
    height = 860,
    dark = false,
    card = "",
    running = false,
    act = async () => {},
    route = null,
  } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  const tab = await context.newPage();
  if (route) await route(tab);
  await tab.goto(typeof url === "function" ? url() : url);
  await tab.locator("h1").waitFor();
  if (card) await tab.locator(`#${card}-heading .fold`).click();
  await act(tab);
  // What is out of sight is not drawn yet.
  if (card) {
    await tab.locator(`#${card}-card`).evaluate((element) => {
      // Else it lies over what is taken.
      document.getElementById("controls").style.position = "static";
      element.scrollIntoView();
    });
  }
  await tab.mouse.move(1, 1);
  if (!running) await tab.waitForFunction(() => !document.querySelector('main [aria-busy="true"]'));
  await tab.waitForTimeout(running ? 50 : 500);
  const target = join(folder, `${name}.png`);
  await (card ? tab.locator(`#${card}-card`) : tab).screenshot({ path: target });
  await context.close();
  const { size } = statSync(target);
  console.log(`${target}: ${Math.round(size / 1000)} kB`);
  if (size > MOST_BYTES) throw new Error(`${name}.png has ${size} bytes, more than ${MOST_BYTES}`);
}

/** A server, and how to stop it. */
async function serve(...options) {
  const server = spawn(attnflow, ["serve", "--port", "0", ...options], { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise((found, failed) => {
    let text = "";
    const read = (chunk) => {
      text += chunk;
      const match = /http:\/\/[\d.]+:\d+\//.exec(text);
      if (match) found(match[0]);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", () => failed(new Error(`attnflow serve: ${text}`)));
  });
  return { address, stop: () => server.kill("SIGTERM") };
}

async function textPictures(browser) {
  const text = page("text", "explain", SENTENCE, "--model", minilm, "--keep-attention", "--output-token", "her");
  const method = (tab, name) => tab.locator(`#methods input[value="${name}"]`).check({ force: true });
  const answer = page("answer", "explain", "The opposite of hot is", "--model", smollm2);
  await picture(browser, "viewer-answer", answer, { height: 640 });
  await picture(browser, "viewer-text", text);
  await picture(browser, "viewer-text-dark-narrow", text, { width: 390, height: 844, dark: true });
  await picture(browser, "viewer-matrix", text, { card: "matrix" });
  await picture(browser, "viewer-heads", text, { card: "heads" });
  // Flows that enter below the first layer repeat its attention: over two layers the cut lies inside.
  await picture(browser, "viewer-graph", text, {
    card: "graph",
    act: async (tab) => {
      await tab.locator("#layer").fill("1");
      await tab.locator('#graph-card input[value="flow"]').check({ force: true });
      const label = await tab.locator("#flow-input option", { hasText: ": sara" }).first().getAttribute("value");
      await tab.locator("#flow-input").selectOption(label);
    },
  });
  await picture(browser, "viewer-compare", text, {
    height: 760,
    act: async (tab) => {
      await tab.locator("#compare-button").click();
      await method(tab, "raw");
      await tab.locator("#compare-card").evaluate((card) => scrollTo(0, card.offsetTop - 110));
    },
  });
}

async function otherPictures(browser, boot) {
  const generation = page(
    "generation",
    ...["generate", PROMPT, "--model", smollm2, "-n", "12", "--generated-columns", "--normalize", "receptive-field"],
    ...["--exclude-stop-words", "en", "--exclude-punctuation"],
  );
  await picture(browser, "viewer-generation", generation, {
    height: 1250,
    act: async (tab) => {
      await tab.locator('#generated [data-token="8"]').click();
    },
  });
  await picture(browser, "viewer-image", page("image", "image", boot), { height: 1000 });
}

async function serverPictures(browser, boot) {
  const empty = join(scratch, "null.json");
  const html = join(scratch, "server.html");
  writeFileSync(empty, "null");
  assemble(empty, html, "--server");
  const { address, stop } = await serve("--model", minilm, "--model", smollm2);
  // This viewer, not the one in the program.
  const route = (tab) =>
    tab.route(address, (one) => one.fulfill({ contentType: "text/html", body: readFileSync(html, "utf8") }));
  const task = (tab, name) => tab.locator(`#tasks input[value="${name}"]`).check({ force: true });
  try {
    await picture(browser, "serve-start", address, {
      route,
      height: 620,
      act: (tab) => tab.locator("#examples button").first().waitFor(),
    });
    await picture(browser, "serve-explain", address, {
      route,
      height: 1100,
      act: async (tab) => {
        await tab.locator("#model-choice").selectOption(basename(smollm2, ".gguf"));
        await tab.locator("#ask-text").fill(PROMPT);
        await tab.locator("#explain").click();
        await tab.locator("#agreement").waitFor({ timeout: 60_000 });
      },
    });
    await picture(browser, "serve-image", address, {
      route,
      height: 1000,
      act: async (tab) => {
        await task(tab, "image");
        await tab.locator("#picture-file").setInputFiles(boot);
        await tab.locator("#picture-card").waitFor({ timeout: 60_000 });
      },
    });
    await picture(browser, "serve-generate", address, {
      route,
      height: 620,
      running: true,
      act: async (tab) => {
        await task(tab, "generation");
        await tab.locator("#ask-prompt").fill(PROMPT);
        await tab.locator("#sampling-button, #sampling button").first().click();
        await tab.locator("#ask-tokens").fill("40");
        await tab.keyboard.press("Escape");
        await tab.locator("#continue").click();
        // Half way.
        await tab.waitForFunction(() => document.querySelectorAll("#generated .token").length >= 15, null, {
          timeout: 60_000,
        });
        await tab.evaluate(() => scrollTo(0, 0));
      },
    });
  } finally {
    stop();
  }
}

const browser = await startBrowser();
try {
  const boot = join(scratch, "boot.png");
  copyFileSync(join(root, "models/fashion/example_ankle_boot.png"), boot);
  await textPictures(browser);
  await otherPictures(browser, boot);
  await serverPictures(browser, boot);
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}
