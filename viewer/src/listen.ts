// Events of the page that something follows for a while.

type Handlers = { [Name in keyof DocumentEventMap]?: (event: DocumentEventMap[Name]) => void };

/** Listens to events of the document; returns how to stop. */
export function listen(handlers: Handlers, options: AddEventListenerOptions = {}): () => void {
  const listening = new AbortController();
  for (const [name, handler] of Object.entries(handlers)) {
    document.addEventListener(name, handler as EventListener, { ...options, signal: listening.signal });
  }
  return () => listening.abort();
}
