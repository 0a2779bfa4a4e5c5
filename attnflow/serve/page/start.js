"use strict";
// Asks the server for one report and shows each method as a strip of coloured tokens.
const byId = (id) => document.getElementById(id);
// The token may come behind the # of the address, which browsers never send; it is kept in this page alone.
let token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
if (token) history.replaceState(null, "", location.pathname);

async function ask(path, body) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`api/v1/${path}`, {
    method: body ? "POST" : "GET",
    headers,
    body: body && JSON.stringify(body),
  });
  const json = await answer.json();
  if (answer.status === 401) byId("token-field").hidden = false;
  if (!answer.ok) throw new Error(json.error.message);
  return json;
}

function say(text, failed) {
  byId("status").textContent = text;
  byId("status").className = failed ? "failure" : "";
}

function numbers(array) {
  const bytes = Uint8Array.from(atob(array.data), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = array.dtype === "f64" ? 8 : 4;
  return (i) => (size === 8 ? view.getFloat64(i * 8, true) : view.getFloat32(i * 4, true));
}

function strip(report, method) {
  const array = report.arrays[method];
  const rows = method === "flow" ? report.flow_output_tokens : report.output_tokens;
  const [layers, , n] = array.shape;
  const value = numbers(array);
  const row = ((layers - 1) * array.shape[1] + rows.indexOf(report.output_token)) * n;
  const values = Array.from({ length: n }, (_, j) => value(row + j));
  const tokens = report.input.tokens;
  const largest = Math.max(...values.filter((_, j) => !tokens[j].special), 1e-12);
  const bytes = new TextEncoder().encode(report.input.text);
  const section = document.createElement("div");
  const heading = section.appendChild(document.createElement("h2"));
  heading.textContent = `${method}, layer ${report.settings.layers.at(-1)}`;
  const line = section.appendChild(document.createElement("div"));
  line.className = "strip";
  line.dataset.method = method;
  tokens.forEach((one, j) => {
    const own = one.begin !== undefined && !one.segment;
    const span = line.appendChild(document.createElement("span"));
    span.textContent = own ? new TextDecoder().decode(bytes.slice(one.begin, one.end)) : one.text;
    span.title = `${one.text}: ${values[j].toPrecision(4)}`;
    span.classList.toggle("special", Boolean(one.special));
    span.classList.toggle("output", j === report.output_token);
    const share = Math.round(100 * Math.min(1, Math.max(0, values[j] / largest)));
    span.style.backgroundColor = `color-mix(in srgb, #e66100 ${share}%, transparent)`;
  });
  return section;
}

function show(report) {
  const result = byId("result");
  result.replaceChildren();
  for (const prediction of report.predictions ?? []) {
    const best = prediction.choices.slice(0, 3).map((c) => `${c.label} ${(100 * c.probability).toFixed(1)}%`);
    result.appendChild(document.createElement("p")).textContent = `Prediction: ${best.join(", ")}`;
  }
  for (const method of report.settings.method) result.appendChild(strip(report, method));
  for (const note of report.notes ?? []) result.appendChild(document.createElement("p")).textContent = note;
}

async function begin() {
  try {
    const table = await ask("models");
    byId("token-field").hidden = true;
    const usable = table.models.filter((m) => m.kind !== "image");
    byId("model").replaceChildren(
      ...usable.map((m) => new Option(m.name, m.name, false, m.name === table.default.text)),
    );
    byId("examples").replaceChildren(...table.examples.text.map((text) => new Option(text)));
    byId("text").value ||= table.examples.text[0] ?? "";
    say("");
  } catch (error) {
    say(error.message, true);
  }
}

byId("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    if (!byId("token-field").hidden) {
      token = byId("token").value.trim();
      await begin();
      if (!byId("token-field").hidden) return;
    }
    const method = [...document.querySelectorAll("#methods input:checked")].map((box) => box.value);
    say("Working …");
    const began = performance.now();
    show(await ask("explain", { text: byId("text").value, model: byId("model").value, method, compact: true }));
    say(`Done in ${Math.round(performance.now() - began)} ms.`);
  } catch (error) {
    say(error.message, true);
  }
});
begin();
