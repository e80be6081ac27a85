/** The schedule of upkeep beside an ingester: each chore is a command of its own, so that its memory and its end are, too. */

import { join } from "node:path";
import { asLabError, isLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { programPath } from "../core/program.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import { spawnGuarded } from "../services/guard.ts";
import { type Chore, type Intervals, runSchedule } from "../upkeep/schedule.ts";

/**
 * Joining everything in each turn would write a large file again for every few small ones; and nobody is there to be told which
 * versions end. The audit table is in the store.
 */
function argsOf(chore: Chore, uri: string, { app, store }: UpkeepOptions): readonly string[] {
  const audit = ["--app", app, "--store", store];
  switch (chore) {
    case "optimize":
      return [chore, uri, "--tiered"];
    case "vacuum":
      return [chore, uri, "--explain", "off"];
    case "cleanup":
      return [chore, uri, ...audit];
    case "rollup":
      return ["audit", chore, uri, ...audit];
  }
}

export type UpkeepOptions = {
  app: string;
  /** Where tables are that have a name. */
  store: string;
  /** What the commands say goes to `logs/upkeep.log` in it. */
  data: string;
  env: NodeJS.ProcessEnv;
  log: Log;
};

export type Keeper = {
  /** Cares for a table from now on; once, however often it is said. */
  keep(uri: string, intervals: Intervals): void;
  /** Resolves once `signal` has aborted and the command that ran is ended. */
  ended(): Promise<void>;
};

/** Runs until `signal` aborts; then the command that runs is ended, too. Failures are logged: a table that is not cared for still ingests. */
export function createKeeper(options: UpkeepOptions, signal: AbortSignal): Keeper {
  const inTurn = turns();
  const cared = new Map<string, Promise<void>>();
  return {
    keep(uri, intervals) {
      if (cared.has(uri) || Object.keys(intervals).length === 0) return;
      cared.set(uri, keepTable(options, { uri, intervals }, inTurn, signal));
    },
    async ended() {
      await Promise.all(cared.values());
    },
  };
}

type InTurn = (work: () => Promise<void>) => Promise<void>;

/** One command at a time, whatever the number of tables: upkeep must not take the machine from the ingester. */
function turns(): InTurn {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

async function keepTable(
  options: UpkeepOptions,
  { uri, intervals }: { uri: string; intervals: Intervals },
  inTurn: InTurn,
  signal: AbortSignal,
): Promise<void> {
  const { app, env, log } = options;
  let store: Store | undefined;
  try {
    await runSchedule(
      {
        app,
        intervals,
        async openTable(waiting) {
          store ??= await openStore(uri, { signal: waiting, env });
          try {
            return await openTable(store, waiting);
          } catch (error) {
            if (isLabError(error, "NOT_A_TABLE")) return null;
            throw error;
          }
        },
        perform: (chore, waiting) =>
          inTurn(async () => {
            waiting.throwIfAborted();
            log.info({ event: "upkeep", table: uri, chore }, "upkeep");
            await runCommand(options, argsOf(chore, uri, options), waiting);
          }),
        onFailure: (error, chore) =>
          log.warn(
            { event: "upkeep-failed", code: asLabError(error).code, table: uri, chore, err: String(error) },
            "upkeep failed",
          ),
        now: Date.now,
        random: Math.random,
      },
      signal,
    );
  } finally {
    await store?.close();
  }
}

async function runCommand(
  options: UpkeepOptions,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const logFile = join(options.data, "logs", "upkeep.log");
  const child = spawnGuarded({
    command: process.execPath,
    args: [programPath("lab"), ...args],
    // It is no part of the lab: nobody asks for its state.
    env: { ...options.env, LAB_RUN_FILE: undefined, LAB_PARENT: undefined, LAB_OPS_PORT: undefined },
    logFile,
    signal,
  });
  const { code } = await child.exited;
  signal.throwIfAborted();
  if (code === 0) return;
  throw new LabError("SERVICE_FAILED", `lab ${args.join(" ")} ended with ${code}`, {
    hint: `see ${logFile}`,
  });
}
