/** How a process of the lab ends: signals, and the end of the supervisor that started it. */

export type Lifecycle = {
  /** Aborts at the first SIGINT, SIGTERM, or end of the parent: finish, commit, exit 0. */
  signal: AbortSignal;
  /** Takes the handlers off again. */
  close(): void;
};

/** Two signals closer than this, in ms, are one request. */
const ECHO_MS = 300;

/**
 * Watches for the first request to stop. A second signal exits at once with status 1, unless it is the echo of the first: a terminal
 * signals npm and its child alike, and npm passes the signal on once more.
 *
 * With `LAB_PARENT=stdin` in the environment the process belongs to a supervisor that holds its standard
 * input open: when that ends, whatever ended the supervisor, this process stops too, and is gone after
 * `orphanMs` even if it hangs.
 */
export function watchLifecycle(
  options: { orphanMs?: number; onStop?: (why: string) => void } = {},
): Lifecycle {
  const controller = new AbortController();
  const stop = (why: string) => {
    if (controller.signal.aborted) return false;
    options.onStop?.(why);
    controller.abort(new StopRequested(why));
    return true;
  };
  let askedAtMs = 0;
  const onSignal = (name: NodeJS.Signals) => {
    if (stop(name)) askedAtMs = performance.now();
    else if (performance.now() - askedAtMs > ECHO_MS) process.exit(1);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);

  const onOrphan = () => {
    stop("the supervisor ended");
    setTimeout(() => process.exit(1), options.orphanMs ?? 10_000).unref();
  };
  const hasParent = process.env.LAB_PARENT === "stdin";
  if (hasParent) {
    process.stdin.on("end", onOrphan).on("error", onOrphan).on("close", onOrphan).resume();
  }
  return {
    signal: controller.signal,
    close() {
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      if (hasParent) process.stdin.off("end", onOrphan).off("error", onOrphan).off("close", onOrphan).pause();
    },
  };
}

/** The reason of an orderly stop; never a failure. */
export class StopRequested extends Error {
  constructor(why: string) {
    super(`stop requested: ${why}`);
    this.name = "StopRequested";
  }
}
