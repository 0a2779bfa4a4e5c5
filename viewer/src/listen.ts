// Temporary listeners for document events.

type Handlers = { [Name in keyof DocumentEventMap]?: (event: DocumentEventMap[Name]) => void };

/** Listens to document events; returns a stop function. */
export function listen(handlers: Handlers, options: AddEventListenerOptions = {}): () => void {
  const listening = new AbortController();
  for (const [name, handler] of Object.entries(handlers)) {
    document.addEventListener(name, handler as EventListener, { ...options, signal: listening.signal });
  }
  return () => listening.abort();
}
