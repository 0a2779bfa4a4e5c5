// Scrolls new content into view.

/**
 * Scrolls to an element once the page is drawn; before that, content collapsing above would shift it.
 * @param needed whether scrolling is still needed by then
 */
export function bringToSight(id: string, needed: (element: HTMLElement) => boolean = () => true) {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const element = document.getElementById(id);
      if (element && needed(element)) element.scrollIntoView();
    }),
  );
}
