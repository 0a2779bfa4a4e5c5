/** Whether the page is in a frame, where it handles no keys: its root element says so. False outside browsers. */
export const inFrame = () => typeof document === "object" && "embed" in document.documentElement.dataset;

/** The theme of the page around the frame, if that page says so. */
export const hostTheme = (root: HTMLElement): string | undefined => root.dataset.embed || undefined;
