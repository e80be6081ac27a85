/** Checkpoints beside the commits: one at a time, of the newest version of each table, best effort. */

import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Opened } from "./destination.ts";

/** `maintain` returns at once with what is under way; it never fails. */
export function createMaintenance(log: Log, signal: AbortSignal): (opened: Opened) => Promise<void> {
  const waiting = new Map<Opened["table"], Opened>();
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    for (const { table, snapshot } of waiting.values()) {
      waiting.delete(table);
      await table
        .maintain(snapshot, signal)
        .catch((error: unknown) =>
          log.warn(
            { event: "checkpoint", code: asLabError(error).code, err: String(error) },
            "checkpoint not written, will be tried again",
          ),
        );
    }
    running = null;
  }

  return (opened) => {
    waiting.set(opened.table, opened);
    running ??= run();
    return running;
  };
}
