// The client of `attnflow serve` (attnflow/serve/openapi.json).
import { signal } from "@preact/signals";
import { moveTo } from "../address";
import type { LivePrompt, LiveToken } from "../generation/growing";
import type { Method } from "../report/document";
import type { MixingName } from "../report/mixings";
import { readEvents } from "./events";

export interface ServedModel {
  name: string;
  kind: "text" | "image" | "generation";
  architecture: string;
  layers: number;
  heads: number;
  head: "masked" | "classification" | "token-classification" | "question-answering" | "causal" | "embedding" | "none";
  labels: string[];
  max_tokens: number;
  built_in: boolean;
  /** mixings and methods that explain and image accept, as far as the model's description says */
  mixings: MixingName[];
  methods: Method[];
  /** explain accepts blank */
  blanks: boolean;
  /** evaluate accepts the model */
  evaluates: boolean;
  /** its files have a chat template; absent from older servers */
  chat?: boolean;
  /** an encoder-decoder: explain takes target_text; absent from older servers */
  takes_target?: boolean;
  /** how a masked language model's mask is written in a text */
  mask: string | null;
  examples: Example[];
}

export type Example = TextExample | PictureExample;
export interface TextExample {
  text: string;
}
export interface PictureExample {
  name: string;
  type: string;
  /** base64 */
  data: string;
}

export interface ModelTable {
  models: ServedModel[];
  default: Partial<Record<ServedModel["kind"], string | null>>;
}

/** How far a request is, for display. */
export interface Progress {
  /** requests before this one; null: it is being processed */
  position: number | null;
  /** the queue is full: seconds until it is asked again */
  again?: number;
  phase: string;
  done: number;
  total: number;
}

export interface Handlers {
  progress?(progress: Progress): void;
  /** the start of a generation */
  prompt?(prompt: LivePrompt): void;
  token?(token: LiveToken): void;
}

/** An error message from the server. */
export class ServerError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    /** when to try again, and why */
    readonly busy: { seconds: number; waiting: number } | null = null,
  ) {
    super(message);
  }
}

type Init = Omit<RequestInit, "headers"> & { headers?: Record<string, string> };

const jsonOf = (body: object) => ({
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
});

const KEY = "attnflow-token";

function stored(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export class Client {
  /** The server requires a token, or a different one. */
  readonly locked = signal(false);
  private token: string;

  /** @param base the address that "api/v1/..." is relative to */
  constructor(private readonly base: string = document.baseURI) {
    this.token = stored();
    // The token may come after the # of the address, which browsers never send; it is removed from there.
    const parts = new URLSearchParams(location.hash.slice(1));
    const given = parts.get("token");
    if (given) {
      this.useToken(given);
      parts.delete("token");
      moveTo(parts.toString(), "replace");
    }
  }

  /** Kept for this tab only. */
  useToken(token: string) {
    this.token = token.trim();
    try {
      sessionStorage.setItem(KEY, this.token);
    } catch {
      // Then only until the page is reloaded.
    }
  }

  private async ask(path: string, init: Init = {}): Promise<Response> {
    const headers = { ...init.headers, ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) };
    let response: Response;
    try {
      response = await fetch(new URL(`api/v1/${path}`, this.base), { ...init, headers, cache: "no-store" });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError(0, "unreachable", "the server does not answer; is attnflow serve still running?");
    }
    if (response.ok) {
      this.locked.value = false;
      return response;
    }
    if (response.status === 401) this.locked.value = true;
    throw await errorOf(response);
  }

  async models(): Promise<ModelTable> {
    return (await (await this.ask("models")).json()) as ModelTable;
  }

  /** Asks until the queue accepts it. */
  private async askInTurn(path: string, init: Init, handlers: Handlers): Promise<Response> {
    for (;;) {
      try {
        return await this.ask(path, init);
      } catch (error) {
        if (!(error instanceof ServerError) || !error.busy) throw error;
        const { seconds, waiting } = error.busy;
        handlers.progress?.({ position: waiting, again: seconds, phase: "", done: 0, total: 0 });
        // Randomized, so that clients do not all retry at once.
        await pause(seconds * 1000 * (1 + Math.random() / 4), init.signal);
      }
    }
  }

  /** POSTs and follows the events; resolves to the document at their end. */
  private async follow(path: string, init: Init, handlers: Handlers): Promise<unknown> {
    const request = { ...init, method: "POST", headers: { ...init.headers, Accept: "text/event-stream" } };
    const response = await this.askInTurn(path, request, handlers);
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || !response.body) {
      return response.json();
    }
    for await (const { name, data } of unbroken(readEvents(response.body))) {
      const value = JSON.parse(data) as Record<string, unknown>;
      switch (name) {
        case "queued":
          handlers.progress?.({ position: Number(value.position), phase: "", done: 0, total: 0 });
          break;
        case "progress":
          handlers.progress?.({
            position: null,
            phase: String(value.phase),
            done: Number(value.done),
            total: Number(value.total),
          });
          break;
        case "prompt":
          handlers.prompt?.(value as unknown as LivePrompt);
          break;
        case "token":
          handlers.token?.(value as unknown as LiveToken);
          break;
        case "report":
        case "result":
          return value;
        case "error": {
          const { kind, message } = (value.error ?? {}) as { kind?: string; message?: string };
          throw new ServerError(response.status, String(kind), String(message ?? "the server failed"));
        }
      }
    }
    throw new ServerError(0, "cut_off", "the server ended before its answer was complete");
  }

  post(
    path: "explain" | "generate" | "evaluate",
    body: Record<string, unknown>,
    handlers: Handlers = {},
    signal?: AbortSignal,
  ) {
    return this.follow(path, { ...jsonOf(body), signal }, handlers);
  }

  /** Ends a generation with the tokens so far, which its own response returns. False: it was already over. */
  async stop(id: string): Promise<boolean> {
    const response = await this.ask("stop", { method: "POST", ...jsonOf({ stop_id: id }) });
    return ((await response.json()) as { stopped: boolean }).stopped;
  }

  image(picture: Blob, options: Record<string, string>, handlers: Handlers = {}, signal?: AbortSignal) {
    const init = { body: picture, headers: { "Content-Type": picture.type }, signal };
    return this.follow(`image?${new URLSearchParams(options).toString()}`, init, handlers);
  }
}

/** Reports a broken connection as the server having gone away. */
async function* unbroken<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ServerError(0, "cut_off", "the connection to the server broke before its answer was complete");
  }
}

/** Waits; rejects as fetch does if the signal aborts. */
function pause(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopped = () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stopped);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stopped();
    else signal?.addEventListener("abort", stopped, { once: true });
  });
}

const LONGEST_PAUSE = 60;

async function errorOf(response: Response): Promise<ServerError> {
  try {
    const { error } = (await response.json()) as { error: { kind: string; message: string; waiting?: number } };
    const seconds = Number(response.headers.get("Retry-After"));
    const busy =
      error.kind === "queue_full" || error.kind === "overloaded"
        ? { seconds: Math.min(Math.max(seconds || 1, 1), LONGEST_PAUSE), waiting: error.waiting ?? 0 }
        : null;
    return new ServerError(response.status, error.kind, error.message, busy);
  } catch {
    return new ServerError(response.status, "unknown", `the server answered with ${response.status}`);
  }
}
