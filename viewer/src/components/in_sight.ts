// Brings what has just come into sight.

/**
 * Scrolls to an element when the page is drawn: what folds away above it meanwhile would take it along.
 * @param needed whether it has to be, by then
 */
export function bringToSight(id: string, needed: (element: HTMLElement) => boolean = () => true) {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const element = document.getElementById(id);
      if (element && needed(element)) element.scrollIntoView();
    }),
  );
}
