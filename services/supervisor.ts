/** Runs the parts of a lab: in order, again when one ends by itself, and in reverse order at the end. */

import { asLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import { afterEnding, describeEnding, type Ending, type Problem } from "./restart-policy.ts";

/** Something that is started as often as needed. */
export type Part = {
  name: string;
  kind: string;
  /** True for a part that may end with status 0 when its work is done. */
  finite: boolean;
  /** Parts of one name that were started one after another are asked to end at the same time. */
  together?: string;
  /**
   * Resolves when the part is ready. Rejects, having left nothing behind, when it cannot be. The signal gives the start up; once the
   * part is ready it never aborts: from then on `stop` ends it, in its turn.
   */
  start(signal: AbortSignal): Promise<Running>;
};

export type Running = {
  pid: number | null;
  /** Where users reach it; null if that means nothing to them. */
  address: string | null;
  /** Resolves when it has ended, by itself or by `stop`. */
  exited: Promise<{ code: number | null; signal: string | null; problem?: Problem | undefined }>;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
};

export type PartStatus = {
  name: string;
  kind: string;
  state: "starting" | "ready" | "restarting" | "held" | "done" | "failed" | "stopping" | "stopped";
  pid: number | null;
  address: string | null;
  restarts: number;
  /** How it last ended, in words. */
  lastEnd: string | null;
  /** The way out that it gave when it last ended. */
  lastHint?: string | null;
};

export type Supervisor = {
  /** Starts the next part and waits until it is ready; from then on it is kept running. Rejects when this first start fails. */
  start(part: Part): Promise<Running>;
  parts(): PartStatus[];
  /**
   * Ends a part and keeps it down until what this resolves to is called; then it is started again. Resolves when it has ended. Rejects
   * with SERVICE_FAILED where no such part runs.
   */
  hold(name: string): Promise<() => void>;
  /** Ends a part for good and forgets it. SERVICE_FAILED where there is no such part. */
  remove(name: string): Promise<void>;
  /**
   * Ends the parts, the last started first; each has ended before the next is asked to, unless they belong together, and `afterEach` is awaited in between. Never
   * rejects. A second call waits for the first.
   */
  stop(afterEach?: (name: string) => Promise<void>): Promise<void>;
};

type Kept = {
  part: Part;
  status: PartStatus;
  running: Running | null;
  keeping: Promise<void>;
  /** While it is held: resolves when it may start again. */
  held: Promise<void> | null;
  isLeaving: boolean;
};

/** `onChange` hears of every change of a part's status. */
export function createSupervisor(options: {
  log: Log;
  now?: () => number;
  onChange?: (status: PartStatus) => void;
}): Supervisor {
  const { log, now = Date.now, onChange = () => {} } = options;
  const stopping = new AbortController();
  const kept: Kept[] = [];
  let stopped: Promise<void> | null = null;

  function set(one: Kept, change: Partial<PartStatus>): void {
    Object.assign(one.status, change);
    onChange({ ...one.status });
  }

  function took(one: Kept, running: Running): void {
    one.running = running;
    set(one, { state: "ready", pid: running.pid, address: running.address });
    log.info({ name: one.part.name, child: running.pid }, "ready");
  }

  async function startOne(part: Part): Promise<Running> {
    const starting = new AbortController();
    const giveUp = () => starting.abort(stopping.signal.reason);
    if (stopping.signal.aborted) giveUp();
    stopping.signal.addEventListener("abort", giveUp);
    try {
      return await part.start(starting.signal);
    } finally {
      stopping.signal.removeEventListener("abort", giveUp);
    }
  }

  /** Watches one part until it is done, given up, or the lab stops. */
  async function keep(one: Kept, startedAt: number): Promise<void> {
    let failures = 0;
    let ending = await endOf(one, startedAt);
    while (!stopping.signal.aborted) {
      one.running = null;
      if (one.isLeaving) return set(one, { state: "stopped", pid: null });
      if (one.held !== null) {
        set(one, { state: "held", pid: null });
        await untilReleased(one.held);
        one.held = null;
        set(one, { state: "restarting", restarts: one.status.restarts + 1 });
        ending = await again(one);
        continue;
      }
      const decision = afterEnding(ending, failures, one.part.finite);
      const lastEnd = describeEnding(ending);
      log.warn({ name: one.part.name, ...ending, decision: decision.kind }, "a part ended");
      const lastHint = ending.problem?.hint ?? null;
      if (decision.kind === "done") return set(one, { state: "done", pid: null, lastEnd, lastHint });
      if (decision.kind === "give-up") {
        return set(one, { state: "failed", pid: null, lastEnd: `${lastEnd}; ${decision.why}`, lastHint });
      }
      failures = decision.failures;
      set(one, { state: "restarting", pid: null, restarts: one.status.restarts + 1, lastEnd, lastHint });
      await sleep(decision.afterMs, stopping.signal);
      ending = await again(one);
    }
  }

  /** Rejects when the lab stops meanwhile. */
  function untilReleased(held: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(stopping.signal.reason);
      stopping.signal.addEventListener("abort", stop, { once: true });
      void held.then(() => {
        stopping.signal.removeEventListener("abort", stop);
        resolve();
      });
    });
  }

  function find(name: string): Kept {
    const one = kept.find(({ part }) => part.name === name);
    if (one === undefined)
      throw new LabError("SERVICE_FAILED", `there is no part ${name}`, { hint: "lab status lists them" });
    return one;
  }

  async function again(one: Kept): Promise<Ending> {
    const startedAt = now();
    try {
      took(one, await startOne(one.part));
    } catch (error) {
      stopping.signal.throwIfAborted();
      const { exit, message, code, hint } = asLabError(error);
      log.error({ name: one.part.name, code }, message);
      const problem = { code, message, ...(hint === undefined ? {} : { hint }) };
      return { code: exit, signal: null, ranMs: now() - startedAt, problem };
    }
    return endOf(one, startedAt);
  }

  async function endOf(one: Kept, startedAt: number): Promise<Ending> {
    const exit = await (one.running as Running).exited;
    return { ...exit, ranMs: now() - startedAt };
  }

  async function stopOne(one: Kept): Promise<void> {
    if (one.running !== null) set(one, { state: "stopping" });
    await one.running?.stop().catch((error: unknown) => log.error({ err: error }, "did not stop"));
    await one.keeping;
    if (one.status.state !== "failed") set(one, { state: "stopped", pid: null });
  }

  return {
    async start(part) {
      const idle: PartStatus = {
        ...{ name: part.name, kind: part.kind, state: "starting", pid: null, address: null },
        ...{ restarts: 0, lastEnd: null },
      };
      const one: Kept = {
        part,
        status: idle,
        running: null,
        keeping: Promise.resolve(),
        held: null,
        isLeaving: false,
      };
      kept.push(one);
      const startedAt = now();
      set(one, {});
      try {
        const running = await startOne(part);
        took(one, running);
        one.keeping = keep(one, startedAt).catch((error: unknown) => {
          if (!stopping.signal.aborted) log.error({ name: part.name, err: error }, "no longer watched");
        });
        return running;
      } catch (error) {
        const { message, hint = null } = asLabError(error);
        set(one, { state: "failed", lastEnd: message, lastHint: hint });
        throw error;
      }
    },
    parts: () => kept.map((one) => ({ ...one.status })),
    async hold(name) {
      const one = find(name);
      if (one.running === null || one.held !== null)
        throw new LabError("SERVICE_FAILED", `${name} does not run now`, { hint: "wait until it is back" });
      let release: () => void = () => {};
      one.held = new Promise((resolve) => {
        release = resolve;
      });
      set(one, { state: "stopping" });
      await one.running.stop();
      return release;
    },
    async remove(name) {
      const one = find(name);
      one.isLeaving = true;
      if (one.running !== null) set(one, { state: "stopping" });
      await one.running?.stop();
      kept.splice(kept.indexOf(one), 1);
    },
    stop(afterEach = async () => {}) {
      stopped ??= (async () => {
        stopping.abort(new Error("the lab stops"));
        for (const some of inTurns([...kept].reverse())) {
          await Promise.all(some.map(stopOne));
          for (const one of some)
            await afterEach(one.part.name).catch((error: unknown) =>
              log.warn({ err: error }, "after the stop"),
            );
        }
      })();
      return stopped;
    },
  };
}

/** Neighbours that belong together, else each alone. */
function inTurns(parts: readonly Kept[]): Kept[][] {
  const turns: Kept[][] = [];
  for (const one of parts) {
    const { together } = one.part;
    const last = turns.at(-1);
    if (together !== undefined && last?.[0]?.part.together === together) last.push(one);
    else turns.push([one]);
  }
  return turns;
}
