/** Whether the page is in a frame, where it handles no keys: its root element says so. */
export const isEmbedded = (root: HTMLElement) => "embed" in root.dataset;

/** The theme of the page around the frame, if that page says so. */
export const hostTheme = (root: HTMLElement): string | undefined => root.dataset.embed || undefined;
