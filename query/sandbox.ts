/** Queries that come from the network: each in a child process that can read the store's tables and nothing else, and is killed in time. */

import { type ChildProcess, fork } from "node:child_process";
import { type ErrorCode, LabError } from "../core/errors.ts";
import { programPath } from "../core/program.ts";
import type { QueryLimits } from "./engines.ts";
import type { QueryAnswer } from "./run.ts";
import type { Point } from "./statement.ts";

export type SandboxOptions = {
  /** Where tables are looked up by name, and what else is one: see `openQuery`. Relative paths count from the working directory. */
  store: string;
  tables?: ReadonlyMap<string, string>;
  cache?: { folder: string; maxBytes: number };
  limits?: Partial<SandboxLimits>;
};

export type SandboxLimits = QueryLimits & {
  /** Time of the query itself, in ms. */
  deadlineMs: number;
  /** Time to parse, find tables and fetch their files, in ms. */
  prepareMs: number;
  maxRows: number;
  /** JSON bytes of an answer. */
  maxBytes: number;
  /** Queries at once; more of them wait. */
  parallel: number;
};

const MIB = 1024 ** 2;

export const SANDBOX_LIMITS: SandboxLimits = {
  memoryLimitBytes: 512 * MIB,
  threads: 2,
  tempDir: null,
  deadlineMs: 10_000,
  prepareMs: 60_000,
  maxRows: 10_000,
  maxBytes: 16 * MIB,
  parallel: 3,
};

export type Sandbox = {
  /**
   * Runs exactly one SELECT. SQL_ERROR, SQL_REFUSED, QUERY_LIMIT (time, memory), TABLE_NOT_FOUND and the errors of reading;
   * `details.position` in characters where known. An abort kills the query and rejects with the signal's reason.
   */
  run(sql: string, options: { point?: Point | undefined; signal: AbortSignal }): Promise<QueryAnswer>;
  /** Kills what runs. */
  close(): Promise<void>;
};

/** What the child is told at its start, in its first message. */
export type ChildSetup = {
  store: string;
  tables: [name: string, uri: string][];
  cache: { folder: string; maxBytes: number } | null;
  limits: SandboxLimits;
};
export type ChildRequest = { sql: string; point: Point | null };
export type ChildMessage =
  | { kind: "running" }
  | { kind: "answer"; answer: QueryAnswer; rssBytes: number }
  | { kind: "error"; code: ErrorCode; message: string; hint: string | null; position: number | null };

/** A child that has answered is kept for the next query unless it has grown beyond this. */
const KEEP_RSS_BYTES = 400 * MIB;

/** No process is started before the first query; one that ended well serves the next, which then starts at once. */
export function openSandbox(options: SandboxOptions): Sandbox {
  const limits = { ...SANDBOX_LIMITS, ...options.limits };
  const setup: ChildSetup = {
    store: options.store,
    tables: [...(options.tables ?? [])],
    cache: options.cache ?? null,
    limits,
  };
  const all = new Set<ChildProcess>();
  let idle: ChildProcess | undefined;
  let busy = 0;
  const waiting: (() => void)[] = [];

  function start(): ChildProcess {
    const child = startChild();
    all.add(child);
    child.once("exit", () => {
      all.delete(child);
      if (idle === child) idle = undefined;
    });
    // A child that dies early is told of by its exit; the failed message adds nothing.
    child.send(setup, () => {});
    return child;
  }

  async function enter(signal: AbortSignal): Promise<void> {
    if (busy < limits.parallel) {
      busy++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        waiting.splice(waiting.indexOf(resolve), 1);
        reject(signal.reason);
      };
      waiting.push(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) busy--;
    else next();
  }

  return {
    async run(sql, { point, signal }) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        const child = idle ?? start();
        idle = undefined;
        const outcome = await ask(child, { sql, point: point ?? null }, limits, signal);
        if (outcome.reusable && idle === undefined && child.connected) idle = child;
        else child.kill("SIGKILL");
        if (outcome.error !== undefined) throw outcome.error;
        return outcome.answer!;
      } finally {
        leave();
      }
    },
    async close() {
      const ends = [...all].map((child) => new Promise((resolve) => child.once("exit", resolve)));
      for (const child of all) child.kill("SIGKILL");
      await Promise.all(ends);
    },
  };
}

function startChild(): ChildProcess {
  return fork(programPath("query-child"), [], {
    execArgv: ["--max-old-space-size=512"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "json",
  });
}

type Outcome = { answer?: QueryAnswer; error?: unknown; reusable: boolean };

/** One question to one child; whatever happens, it is settled by an answer, the child's end, a deadline or the signal. */
function ask(
  child: ChildProcess,
  request: ChildRequest,
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const tooLong = (what: string, ms: number) =>
      new LabError("QUERY_LIMIT", `${what} took longer than ${ms / 1000} s and was stopped`, {
        hint: "read fewer rows, or run it with lab query, which has no limit",
      });
    let timer = setTimeout(
      () => done({ error: tooLong("preparing the query", limits.prepareMs) }),
      limits.prepareMs,
    );
    const done = (outcome: Omit<Outcome, "reusable">, reusable = false) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      child.off("message", onMessage).off("exit", onExit);
      resolve({ ...outcome, reusable });
    };
    const onAbort = () => done({ error: signal.reason });
    const onExit = () => {
      const message = "the query's process ended: it needs more memory than it may use";
      done({ error: new LabError("QUERY_LIMIT", message, { hint: "read fewer columns or rows" }) });
    };
    const onMessage = (message: ChildMessage) => {
      if (message.kind === "running") {
        clearTimeout(timer);
        timer = setTimeout(() => done({ error: tooLong("the query", limits.deadlineMs) }), limits.deadlineMs);
      } else if (message.kind === "answer") {
        done({ answer: message.answer }, message.rssBytes < KEEP_RSS_BYTES);
      } else {
        const { code, hint, position } = message;
        const extra = {
          ...(hint === null ? {} : { hint }),
          ...(position === null ? {} : { details: { position } }),
        };
        done({ error: new LabError(code, message.message, extra) }, code !== "QUERY_LIMIT");
      }
    };
    signal.addEventListener("abort", onAbort, { once: true });
    child.on("message", onMessage).on("exit", onExit);
    child.send(request, (error) => {
      if (error !== null) onExit();
    });
  });
}
