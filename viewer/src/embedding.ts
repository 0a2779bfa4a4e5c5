/** Whether the page is in a frame, where it handles no keys: its root element says so. */
export const isEmbedded = (root: HTMLElement) => "embed" in root.dataset;
