// Long work in slices: a generator runs until its time is up, lets the page handle pending events, and continues.
import { useEffect, useState } from "preact/hooks";

/** Work that yields wherever it may be interrupted, about every millisecond. */
export type Work<T> = Generator<void, T, void>;

/** Length of a slice in milliseconds. */
const SLICE = 10;

const waiting: (() => void)[] = [];
let channel: MessageChannel | null = null;

/** Calls back after what is pending now: sooner than a timer, and later than input and painting. */
function soon(callback: () => void) {
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()?.();
  }
  waiting.push(callback);
  channel.port2.postMessage(null);
}

export function finish<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value as T;
  }
}

/** Runs in slices; returns a stop function. @param failed if the work throws; the error still reaches the page */
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

/** The result of work that runs in slices and restarts when `inputs` change; null until these inputs have one. */
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
