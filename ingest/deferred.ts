/** A promise that is settled from outside: how a stream ends. */

export type Deferred = { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void };

export function deferred(): Deferred {
  let resolve = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Whoever runs the stream awaits it; a failure before that must not count as unhandled.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
