/** Whether a page stands in a frame of another one, where it takes no keys: its root element says so. */
export const isEmbedded = (root: HTMLElement) => "embed" in root.dataset;
