// A picture with a map of values over it: one color per patch, or smooth.
import { signal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { pixelOf, type MapColours, type Overlay } from "../color/overlay";
import { useViewer } from "../context";
import { bordersOf, CASING, heldBy, lineLook, pathOf } from "../report/contours";
import { type Box, type MapScale, type Picture, SMALL_PICTURE, smoothMap } from "../report/picture";
import type { Numbers } from "../report/values";
import "../styles/image.css";

/** Approximate pixels along a smooth map's side; the browser interpolates further. */
const SMOOTH_SIDE = 480;

export interface Bitmap {
  image: Signal<HTMLImageElement | null>;
  problem: Signal<string>;
}

const bitmaps = new WeakMap<Picture, Bitmap>();

/** The decoded picture, shared by all views. */
export function bitmapOf(picture: Picture): Bitmap {
  const known = bitmaps.get(picture);
  if (known) return known;
  const bitmap: Bitmap = { image: signal(null), problem: signal("") };
  bitmaps.set(picture, bitmap);
  const image = new Image();
  image.src = `data:image/png;base64,${picture.fields.picture?.data ?? ""}`;
  image.decode().then(
    () => (bitmap.image.value = image),
    () => {
      bitmap.problem.value = "The picture in this page could not be read; maps and numbers are shown without it.";
    },
  );
  return bitmap;
}

/** The position of a part of the picture within what is shown, as CSS. */
export function placeIn({ shown }: Picture, { left, top, right, bottom }: Box) {
  const width = shown.right - shown.left;
  const height = shown.bottom - shown.top;
  return {
    left: `${(100 * (left - shown.left)) / width}%`,
    top: `${(100 * (top - shown.top)) / height}%`,
    width: `${(100 * (right - left)) / width}%`,
    height: `${(100 * (bottom - top)) / height}%`,
  };
}

export const aspectOf = ({ shown }: Picture) => (shown.right - shown.left) / (shown.bottom - shown.top);

export interface MapLook {
  scale: MapScale;
  overlay: Overlay;
  colours: MapColours;
  smooth: boolean;
  /** values below this share of the top are not drawn */
  threshold: number;
}

interface StageProps {
  picture: Picture;
  scale: MapScale;
  map: Numbers | null;
  /** the outlined token */
  token: number;
  /** pixels along a smooth map's side */
  side?: number;
  /** most pixels along the photo's side */
  photoSide?: number;
  /** only the picture, without the map */
  only?: "photo";
  /** each patch in its color, however the other maps are drawn */
  plain?: boolean;
  children?: ComponentChildren;
}

export function Stage(props: StageProps) {
  const { picture, map, scale, token, side = SMOOTH_SIDE, photoSide = Infinity, only, plain = false, children } = props;
  const viewer = useViewer();
  const { choices } = viewer.state;
  const photo = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const bitmap = bitmapOf(picture).image.value;
  const [kind, smooth, threshold] = plain
    ? (["colour", false, 0] as const)
    : [choices.overlay.value, choices.smooth.value, choices.threshold.value];
  const colours = scale.signed ? viewer.differenceScale.value : viewer.scale.value;
  const [pictured, mapped] = [only === "photo" || kind !== "beside", only !== "photo" && kind !== "outline"];
  useLayoutEffect(() => {
    if (photo.current && bitmap) paintPhoto(photo.current, bitmap, photoSide);
  }, [bitmap, photoSide, pictured]);
  useLayoutEffect(() => {
    if (overlay.current)
      paintMap(overlay.current, picture, map, side, { scale, overlay: kind, colours, smooth, threshold });
  }, [map, scale.low, scale.top, kind, colours, smooth, threshold, side, mapped]);
  const { width, height } = picture.fields;
  return (
    <div class="stage" style={{ aspectRatio: String(aspectOf(picture)) }}>
      {pictured && (
        <>
          <canvas
            class="photo"
            ref={photo}
            aria-hidden="true"
            style={placeIn(picture, { left: 0, top: 0, right: width, bottom: height })}
          />
          <div class="unseen" style={placeIn(picture, picture.seen)} />
        </>
      )}
      {mapped && (
        <canvas
          class={smooth ? "map" : "map exact"}
          ref={overlay}
          aria-hidden="true"
          style={placeIn(picture, picture.seen)}
        />
      )}
      {kind === "outline" && only !== "photo" && map && <Contours picture={picture} map={map} side={side} />}
      {picture.isPatch(token) && <div class="picked" style={placeIn(picture, picture.placeOf(token))} />}
      {children}
    </div>
  );
}

/** Draws the picture, at most `most` pixels per side. */
function paintPhoto(canvas: HTMLCanvasElement, image: HTMLImageElement, most: number) {
  const part = Math.min(1, most / Math.max(image.width, image.height));
  canvas.width = Math.max(1, Math.round(image.width * part));
  canvas.height = Math.max(1, Math.round(image.height * part));
  canvas.classList.toggle("exact", Math.max(image.width, image.height) <= SMALL_PICTURE);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
}

/** Draws one pixel per patch, or many. Missing values stay empty. */
export function paintMap(
  canvas: HTMLCanvasElement,
  picture: Picture,
  map: Numbers | null,
  side: number,
  look: MapLook,
) {
  const { rows, columns } = picture;
  const fine = look.smooth ? Math.max(1, Math.ceil(side / Math.max(rows, columns))) : 1;
  canvas.width = columns * fine;
  canvas.height = rows * fine;
  const context = canvas.getContext("2d");
  if (!map || !context) return;
  const image = new ImageData(canvas.width, canvas.height);
  const { low, top } = look.scale;
  const values = fine > 1 ? smoothMap(map, rows, columns, fine) : map;
  const least = look.threshold * top;
  for (let p = 0; p < values.length; ++p) {
    const value = values[p];
    if (Number.isNaN(value) || Math.abs(value) < least) continue;
    const { rgb, alpha } = pixelOf(top > low ? (value - low) / (top - low) : 0, look.overlay, look.colours);
    image.data.set([...rgb, Math.round(255 * alpha)], 4 * p);
  }
  context.putImageData(image, 0, 0);
}

/** Lines around the patches that hold most of the map. */
function Contours({ picture, map, side }: { picture: Picture; map: Numbers; side: number }) {
  const { rows, columns } = picture;
  const held = useMemo(() => heldBy(map), [map]);
  const pixels = side / Math.max(rows, columns);
  return (
    <svg
      class="contours"
      aria-hidden="true"
      viewBox={`0 0 ${columns} ${rows}`}
      preserveAspectRatio="none"
      style={placeIn(picture, picture.seen)}
    >
      {held
        .map(({ share, inside, patches }, k) => {
          const look = lineLook(k, pixels);
          const path = (inset: number) => pathOf(bordersOf(inside, rows, columns, inset));
          const line = path(look.inset);
          return (
            <g key={share} data-share={share} data-patches={patches}>
              {look.tint > 0 && <path class="tint" d={path(0)} fill={look.colour} fill-opacity={look.tint} />}
              <path d={line} stroke={CASING} stroke-width={look.casing} />
              <path d={line} stroke={look.colour} stroke-width={look.width} stroke-dasharray={look.dashes} />
            </g>
          );
        })
        .reverse()}
    </svg>
  );
}

/** The area of a patch, cut from the picture (which may have fewer pixels than the original). */
export function Thumbnail({ picture, token }: { picture: Picture; token: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const image = bitmapOf(picture).image.value;
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !image) return;
    const { left, top, right, bottom } = picture.placeOf(token);
    const x = image.width / picture.fields.width;
    const y = image.height / picture.fields.height;
    context.clearRect(0, 0, 40, 40);
    context.imageSmoothingEnabled = (right - left) * x > 20;
    context.drawImage(image, left * x, top * y, (right - left) * x, (bottom - top) * y, 0, 0, 40, 40);
  }, [image, token]);
  return <canvas ref={canvas} width={40} height={40} class="thumbnail" aria-hidden="true" />;
}
