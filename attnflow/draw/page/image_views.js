// Maps over a picture, and the other parts of a picture's page.
// @ts-check

/** Pictures below this size show their pixels. */
const SMALL_PICTURE = 100;
/** A smooth map has about this many pixels a side; the browser smoothes the rest. */
const SMOOTH_SIDE = 480;

/** A share for people. @param {number} share */
function percent(share) {
  if (share > 0 && share < 0.005) return "under 1%";
  if (share < 1 && share >= 0.995) return "over 99%";
  return `${Math.round(100 * share)}%`;
}

/**
 * Draws a map on a canvas: a pixel for each patch, or many, linear between the centres of patches and constant beyond
 * the outermost ones. What has no value stays empty.
 * @param {any} canvas @param {ImageReport} data @param {Values | null} map
 * @param {{scale: Scale, smooth: boolean, colours: Colours, side?: number}} options
 */
function paintMap(canvas, data, map, { scale, smooth, colours, side = SMOOTH_SIDE }) {
  const { rows, columns } = data;
  const fine = smooth ? Math.max(1, Math.ceil(side / Math.max(rows, columns))) : 1;
  canvas.width = columns * fine;
  canvas.height = rows * fine;
  canvas.classList.toggle("exact", !smooth);
  if (!map) return;
  const image = new ImageData(canvas.width, canvas.height);
  const range = scale.top - scale.low;
  /** The patches around a pixel, and the second one's part. @param {number} at @param {number} count */
  const around = (at, count) => {
    const position = Math.max(0, Math.min(count - 1, (at + 0.5) / fine - 0.5));
    const from = Math.floor(position);
    return { from, to: Math.min(count - 1, from + 1), part: position - from };
  };
  for (let y = 0; y < canvas.height; ++y) {
    const v = around(y, rows);
    for (let x = 0; x < canvas.width; ++x) {
      const h = around(x, columns);
      const upper = map[v.from * columns + h.from] * (1 - h.part) + map[v.from * columns + h.to] * h.part;
      const lower = map[v.to * columns + h.from] * (1 - h.part) + map[v.to * columns + h.to] * h.part;
      const value = upper * (1 - v.part) + lower * v.part;
      if (Number.isNaN(value)) continue;
      image.data.set([...colours.ramp[colours.step(value - scale.low, range)], 255], 4 * (y * canvas.width + x));
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/**
 * A picture with place for a map over it. `grid` is the part of it that patches cover.
 * @param {ImageReport} data
 */
function makeStage(data) {
  const { shown, seen, image } = data;
  const width = shown.right - shown.left;
  const height = shown.bottom - shown.top;
  const place = (/** @type {any} */ element, /** @type {typeof shown} */ { left, top, right, bottom }) => {
    element.style.left = `${(100 * (left - shown.left)) / width}%`;
    element.style.top = `${(100 * (top - shown.top)) / height}%`;
    element.style.width = `${(100 * (right - left)) / width}%`;
    element.style.height = `${(100 * (bottom - top)) / height}%`;
  };
  const photo = html("canvas", { class: "photo", "aria-hidden": "true" });
  const unseen = html("div", { class: "unseen" });
  const map = html("canvas", { class: "map", "aria-hidden": "true" });
  const mark = html("div", { class: "picked", hidden: "" });
  const box = html("div", { class: "stage" }, photo, unseen, map, mark);
  box.style.aspectRatio = `${width} / ${height}`;
  place(photo, { left: 0, top: 0, right: image.width, bottom: image.height });
  for (const part of [unseen, map]) place(part, seen);
  return {
    box,
    photo,
    map,
    aspect: width / height,
    place,
    /** Outlines a patch, or none. @param {number} token */
    pick(token) {
      mark.hidden = !data.isPatch(token);
      if (!mark.hidden) place(mark, data.placeOf(token));
    },
    /** The patch under the pointer, or null. @param {MouseEvent} event */
    patchAt(event) {
      const area = box.getBoundingClientRect();
      const x = shown.left + ((event.clientX - area.left) / area.width) * width;
      const y = shown.top + ((event.clientY - area.top) / area.height) * height;
      const row = Math.floor(((y - seen.top) / (seen.bottom - seen.top)) * data.rows);
      const column = Math.floor(((x - seen.left) / (seen.right - seen.left)) * data.columns);
      const inside = row >= 0 && row < data.rows && column >= 0 && column < data.columns;
      return inside ? data.tokenOf({ row, column }) : null;
    },
  };
}

/**
 * Puts the picture on a stage's canvas, at most `most` pixels a side.
 * @param {{photo: any}} stage @param {CanvasImageSource & {width: number, height: number}} picture @param {number} most
 */
function paintPhoto({ photo }, picture, most) {
  const part = Math.min(1, most / Math.max(picture.width, picture.height));
  photo.width = Math.max(1, Math.round(picture.width * part));
  photo.height = Math.max(1, Math.round(picture.height * part));
  photo.classList.toggle("exact", Math.max(picture.width, picture.height) <= SMALL_PICTURE);
  const context = photo.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, photo.width, photo.height);
}

/**
 * What a patch covers, cut from the picture (whose pixels may be fewer than the original's).
 * @param {ImageReport} data @param {number} token @param {CanvasImageSource & {width: number, height: number}} picture
 */
function thumbnail(data, token, picture) {
  const canvas = html("canvas", { width: 40, height: 40, class: "thumbnail", "aria-hidden": "true" });
  const { left, top, right, bottom } = data.placeOf(token);
  const x = picture.width / data.image.width;
  const y = picture.height / data.image.height;
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = (right - left) * x > 20;
  context.drawImage(picture, left * x, top * y, (right - left) * x, (bottom - top) * y, 0, 0, 40, 40);
  return canvas;
}

/**
 * Elements for the patches, for keyboards and for those who do not see the picture. @param {ImageReport} data
 * @param {{onMove: (token: number) => void, current: () => number}} options
 */
function patchGrid(data, { onMove, current }) {
  const { rows, columns } = data;
  const grid = html("div", { class: "grid", role: "grid", "aria-describedby": "picture-help" });
  grid.setAttribute("aria-label", `${rows} by ${columns} patches`);
  /** @type {any[]} */
  const cells = [];
  for (let row = 0; row < rows; ++row) {
    const line = html("div", { class: "grid-row", role: "row" });
    for (let column = 0; column < columns; ++column) {
      const token = data.tokenOf({ row, column });
      const cell = html("div", { class: "cell", role: "gridcell", "data-token": token, tabindex: -1 });
      cells.push(cell);
      line.append(cell);
    }
    grid.append(line);
  }
  grid.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { row, column } = data.patchOf(current());
    const places = {
      ArrowRight: { row, column: Math.min(columns - 1, column + 1) },
      ArrowLeft: { row, column: Math.max(0, column - 1) },
      ArrowDown: { row: Math.min(rows - 1, row + 1), column },
      ArrowUp: { row: Math.max(0, row - 1), column },
      Home: { row, column: 0 },
      End: { row, column: columns - 1 },
      PageUp: { row: 0, column },
      PageDown: { row: rows - 1, column },
      Enter: { row, column },
      " ": { row, column },
    };
    const next = places[/** @type {keyof typeof places} */ (event.key)];
    if (!next) return;
    onMove(data.tokenOf(next));
    event.preventDefault();
  });
  return { grid, cells };
}

/** A bar with a name and a number. @param {any} name @param {number} share @param {string} number */
function shareBar(name, share, number) {
  const bar = html("span", { class: "bar" });
  bar.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  const track = html("span", { class: "track", "aria-hidden": "true" }, bar);
  return html("li", {}, name, track, html("span", { class: "number" }, number));
}

/** The model's predictions. @param {any} source the document */
function predictionSections(source) {
  return (source.predictions ?? []).map((/** @type {any} */ prediction) => {
    const bars = html("ol", { class: "bars" });
    for (const { label, probability } of prediction.choices.slice(0, 5)) {
      bars.append(shareBar(own(label), probability, format(probability)));
    }
    return html("section", {}, html("h2", {}, "Prediction"), bars);
  });
}

/** What gradients make of the attention, in words. @param {ImageReport} data */
function mixingText(data) {
  if (!data.gradient) return "";
  const { target } = data.document;
  const rows = data.settings.mixing === "gradient" ? "for flow, " : "";
  const of = target ? ` for class “${visible(target.label)}”` : "";
  return `gradient-adjusted attention${of}; identity added, ${rows}rows divided by their sums`;
}

/** How the numbers were made: [term, text] each, text "" where there is nothing to say. @param {ImageReport} data */
function imageSettings(data) {
  const { document: source, settings, layers, image, seen } = data;
  const heads = { mean: "mean over heads", max: "maximum over heads", min: "minimum over heads" };
  const normalisations = { none: "none, as computed", row: "each output token's values sum to 1" };
  const asides = { none: "", first: "the first token", special: "special tokens" };
  const contiguous = layers.length > 2 && layers.at(-1) === layers[0] + layers.length - 1;
  const computed = contiguous ? `${layers[0]} to ${layers.at(-1)}` : layers.join(", ");
  const round = (/** @type {number} */ x) => Math.round(10 * x) / 10;
  const cut =
    seen.left > 0 || seen.top > 0 || seen.right < image.width || seen.bottom < image.height
      ? `columns ${round(seen.left)} to ${round(seen.right)} and rows ${round(seen.top)} to ${round(seen.bottom)} of pixels; the model did not see the rest, which is pale here`
      : "all of it";
  return [
    ["Picture", `${image.width} × ${image.height} pixels`],
    ["Seen", cut],
    ["Patches", `${data.rows} rows of ${data.columns}, named by row and column from 0`],
    ["Methods", settings.method.join(", ")],
    ["Mixing", mixingText(data)],
    ["Heads", heads[settings.heads] ?? `head ${settings.heads} in the layer looked at, the mean in those below`],
    ["Residual", data.gradient ? "" : `${settings.residual} of each token stays in place in every layer`],
    ["Layers", `${computed}, each down to ${settings.to_layer ? `layer ${settings.to_layer}` : "the input"}`],
    ["Discarded", settings.discard ? `the smallest ${100 * settings.discard}% of each layer's weights` : ""],
    ["Set aside", asides[settings.set_aside] ?? `tokens ${settings.set_aside}`],
    ["Normalisation", normalisations[settings.normalize] ?? `by ${settings.normalize.replace("-", " ")}`],
    [
      "Flow",
      data.methods.includes("flow")
        ? `certified lower ends, at most ${format(source.flow_gap_max)} below the true maximum`
        : "",
    ],
    [
      "Precision here",
      Object.values(source.arrays).some((/** @type {any} */ array) => array.dtype === "f16")
        ? "3 digits; a json or npz file has all of them"
        : "",
    ],
    ["attnflow report", `version ${source.version}`],
  ];
}
