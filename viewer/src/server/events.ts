// Server-sent events over fetch: EventSource can neither POST nor send credentials.

export interface ServerEvent {
  name: string;
  data: string;
}

/** The events of a stream as they arrive (the WHATWG's "text/event-stream"). */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  // A data line may be megabytes: its parts are joined once, and only new input is searched for its end.
  let parts: string[] = [];
  let afterReturn = false;
  let name = "";
  let data: string[] = [];
  try {
    while (true) {
      const { done, value } = await reader.read();
      let chunk = done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (chunk !== "") {
        // The previous chunk ended with the first half of a line break.
        if (afterReturn && chunk.startsWith("\n")) chunk = chunk.slice(1);
        afterReturn = chunk.endsWith("\r");
      }
      const lines = chunk.split(/\r\n|\n|\r/);
      const last = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = parts.join("") + lines[0];
        parts = [];
      }
      if (last !== "") parts.push(last);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { name: name || "message", data: data.join("\n") };
          [name, data] = ["", []];
        } else if (!line.startsWith(":")) {
          const colon = line.indexOf(":");
          const field = colon < 0 ? line : line.slice(0, colon);
          const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
          if (field === "event") name = text;
          else if (field === "data") data.push(text);
        }
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
