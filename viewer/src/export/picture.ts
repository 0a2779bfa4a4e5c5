// Pictures as files: a self-contained SVG, and a PNG made from it.

const NAMESPACE = "http://www.w3.org/2000/svg";
/** Style sheet properties that a file must set, with their defaults, which need not be set; "": always set. */
const PROPERTIES: Record<string, string> = {
  fill: "",
  "fill-opacity": "1",
  stroke: "none",
  "stroke-width": "",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  "stroke-linejoin": "miter",
  opacity: "1",
  "font-family": "",
  "font-size": "",
  "font-weight": "",
  "font-style": "normal",
  "text-anchor": "",
  "dominant-baseline": "auto",
  direction: "ltr",
  "paint-order": "normal",
  "text-decoration-line": "none",
  visibility: "visible",
  "image-rendering": "auto",
};
const TEXT_ONLY = /^(font|text|direction|dominant)/;

export function themeOf(): { paper: string; ink: string; soft: string; line: string } {
  const style = getComputedStyle(document.documentElement);
  const [paper, ink, soft, line] = ["--paper", "--ink", "--soft", "--line"].map((name) =>
    style.getPropertyValue(name).trim(),
  );
  return { paper: paper || "#ffffff", ink, soft, line };
}

/** A live picture as a self-contained document, with the page's background and the canvases that lie under it. */
export function standalone(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [picture, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  originals.forEach((original, k) => {
    const target = copies[k];
    const style = getComputedStyle(original);
    if (style.display === "none") {
      target.setAttribute("display", "none");
      return;
    }
    const text = original.closest("text") !== null || original.querySelector("text") !== null;
    for (const [name, unsaid] of Object.entries(PROPERTIES)) {
      if (TEXT_ONLY.test(name) && !text) continue;
      const value = style.getPropertyValue(name);
      if (value && value !== unsaid && !(name === "stroke-width" && style.stroke === "none")) {
        target.setAttribute(name, value);
      }
    }
    for (const name of ["class", "style", "tabindex", "aria-describedby"]) target.removeAttribute(name);
  });
  const box = picture.getBoundingClientRect();
  const view = picture.viewBox.baseVal;
  const width = Math.ceil(box.width || view?.width || 300);
  const height = Math.ceil(box.height || view?.height || 150);
  copy.setAttribute("xmlns", NAMESPACE);
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const { x, y, width: w, height: h } = copy.viewBox.baseVal;
  const element = (kind: string, attributes: Record<string, string | number>) => {
    const made = document.createElementNS(NAMESPACE, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    return made;
  };
  const sheets = picture.closest(".sheets")?.querySelectorAll<HTMLCanvasElement>("canvas.sheet") ?? [];
  const images = Array.from(sheets, (sheet) => {
    const [left, top, ...size] = (["left", "top", "width", "height"] as const).map((name) =>
      parseFloat(sheet.style[name]),
    );
    const place = { x: left, y: top, width: size[0], height: size[1] };
    return element("image", { ...place, preserveAspectRatio: "none", href: canvasUrl(sheet) });
  });
  copy.prepend(element("rect", { x, y, width: w, height: h, fill: themeOf().paper, stroke: "none" }), ...images);
  return xmlCharacters(new XMLSerializer().serializeToString(copy));
}

/** Replaces characters that XML cannot contain even when escaped, including lone surrogates, by U+FFFD. */
export const xmlCharacters = (text: string) =>
  // eslint-disable-next-line no-control-regex
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Cs}]/gu, "\ufffd");

export const xmlText = (text: string) => xmlCharacters(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** A canvas's contents, for an SVG `<image href>`: sharp pixels, never smoothed. */
export const canvasUrl = (canvas: HTMLCanvasElement) => canvas.toDataURL("image/png");

const MOST_PIXELS = 16_000;

/** A PNG of an SVG document at `most` pixels per CSS pixel, or less if that does not fit in a canvas. */
export async function rasterise(svg: string, most = 2): Promise<Blob> {
  const image = new Image();
  const loaded = new Promise<void>((done, failed) => {
    image.onload = () => done();
    image.onerror = () => failed(new Error("the picture could not be drawn"));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await loaded;
  const side = Math.max(image.width, image.height, 1);
  const scale = Math.min(most, MOST_PIXELS / side);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw on a canvas");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("the picture is too large for this browser");
  return blob;
}
