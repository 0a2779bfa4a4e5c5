// Zooming by wheel, fingers and buttons. The page of a notebook's cell has no_zoom.ts in its place (vite.config.ts).
import { select, type Selection as Selected } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { unit } from "../components/measure";
import type { Frame } from "./matrix_place";

export { zoomIdentity, type ZoomTransform };

/** Whether this page zooms. */
export const ZOOMS = true as boolean;

type Selection<Element extends SVGSVGElement> = Selected<Element, unknown, null, undefined>;

/** Zooms an element with wheel, fingers and buttons. @param width on the screen; a new one resets the zoom */
export function useZoom(
  svg: RefObject<SVGSVGElement>,
  { margin, head, cell, height, plot, n, rows }: Frame,
  [zoomed, setTransform]: [ZoomTransform, (transform: ZoomTransform) => void],
  width: number,
) {
  const behaviour = useRef<ZoomBehavior<SVGSVGElement, unknown> | null>(null);
  useLayoutEffect(() => {
    if (!svg.current) return;
    const element = svg.current;
    const extent: [[number, number], [number, number]] = [
      [margin, head],
      [margin + plot.width, head + plot.height],
    ];
    const zooming = zoom<SVGSVGElement, unknown>()
      .extent(extent)
      .translateExtent(extent)
      .scaleExtent([1, Math.max(2, (56 * unit()) / Math.min(cell, height))])
      .filter((event: Event) => {
        const scaled = (behaviour.current && element.classList.contains("zoomed")) ?? false;
        // The page scrolls over a picture that is neither focused nor zoomed.
        if (event instanceof WheelEvent)
          return event.ctrlKey || event.metaKey || scaled || document.activeElement === element;
        if (event instanceof MouseEvent) return event.button === 0 && scaled;
        return scaled || (event as TouchEvent).touches?.length === 2;
      })
      .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => setTransform(event.transform));
    behaviour.current = zooming;
    const selection = select(element);
    selection.call(zooming).on("dblclick.zoom", null);
    return () => {
      selection.on(".zoom", null);
    };
  }, [svg.current, margin, head, plot.width, plot.height]);
  const act = (does: (zooming: ZoomBehavior<SVGSVGElement, unknown>, on: Selection<SVGSVGElement>) => void) => {
    if (svg.current && behaviour.current) does(behaviour.current, select(svg.current));
  };
  const whole = () => act((zooming, on) => zooming.transform(on, zoomIdentity));
  // A new report or width resets the zoom.
  useEffect(whole, [n, rows, width]);
  return {
    zoomed: zoomed.k > 1,
    whole,
    zoomBy: (factor: number, at?: [number, number]) => act((zooming, on) => zooming.scaleBy(on, factor, at)),
    bring: (x: number, y: number) => act((zooming, on) => zooming.translateTo(on, x, y)),
  };
}
