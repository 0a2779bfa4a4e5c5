// Long work in slices that leave the page responsive: a generator runs until its time is up, then lets the page handle
// what is waiting, and goes on.
import { useEffect, useState } from "preact/hooks";

/** Work that says `yield` where it may be interrupted, every millisecond or so. */
export type Work<T> = Generator<void, T, void>;

/** Milliseconds of a slice. */
const SLICE = 10;

const waiting: (() => void)[] = [];
let channel: MessageChannel | null = null;

/** Calls back after what waits now: sooner than a timer, and later than input and painting. */
function soon(callback: () => void) {
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()?.();
  }
  waiting.push(callback);
  channel.port2.postMessage(null);
}

/** Runs to the end at once. */
export function finish<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value as T;
  }
}

/** Runs in slices; returns what stops it. @param failed is told that it has thrown something, which goes on to the page */
export function inSlices<T>(work: Work<T>, done: (result: T) => void, failed?: () => void): () => void {
  let stopped = false;
  const slice = () => {
    if (stopped) return;
    const end = performance.now() + SLICE;
    try {
      do {
        const step = work.next();
        if (step.done) {
          stopped = true;
          done(step.value);
          return;
        }
      } while (performance.now() < end);
    } catch (error) {
      stopped = true;
      failed?.();
      throw error;
    }
    soon(slice);
  };
  soon(slice);
  return () => {
    stopped = true;
  };
}

/**
 * The result of work that runs in slices, begun anew when `inputs` change; null while there is none. What was found for
 * other inputs is not returned.
 */
export function useWork<T>(make: () => Work<T> | null, inputs: readonly unknown[]): T | null {
  const [found, setFound] = useState<{ inputs: readonly unknown[]; result: T } | null>(null);
  useEffect(() => {
    const work = make();
    if (!work) return;
    return inSlices(work, (result) => setFound({ inputs, result }));
  }, inputs);
  const current = found && found.inputs.every((input, i) => Object.is(input, inputs[i]));
  return current ? found.result : null;
}
