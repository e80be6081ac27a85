/** What commands that write rows again may use of the machine. */

import { tmpdir } from "node:os";
import { bytes, integer, named } from "../core/setting-kinds.ts";
import { SETTINGS, setting, type Values } from "../core/settings.ts";
import type { Table } from "../delta/table.ts";
import type { WorkbenchOptions } from "../upkeep/workbench.ts";
import { withQuery } from "./ask.ts";
import type { Context } from "./command.ts";

const MIB = 1024 * 1024;

export const WORK = {
  store: SETTINGS.store,
  memory: setting<number>({
    flag: "--memory",
    kind: bytes,
    default: 512 * MIB,
    description: "what the engine may use; what does not fit goes to the scratch folder",
  }),
  threads: setting<number>({
    flag: "--threads",
    kind: integer(1, 1024),
    default: 2,
    description: "threads of the engine",
  }),
  scratch: setting<string>({
    flag: "--scratch",
    kind: named("dir"),
    default: tmpdir(),
    defaultText: "the system's folder for temporary files",
    description: "where files are made before they are stored, and where large sorts spill",
  }),
} as const;

export function workbenchOptions(values: Values<typeof WORK>): WorkbenchOptions {
  return { memoryLimitBytes: values.memory, threads: values.threads, scratchDir: values.scratch };
}

/** Opens the table of a command for work that commits; afterwards a checkpoint is written where one is due. */
export function withTable<T>(
  { signal }: Pick<Context, "signal">,
  values: { store: string },
  name: string,
  work: (table: Table) => Promise<T>,
): Promise<T> {
  return withQuery(values, async ({ catalog }) => {
    const { table } = await catalog.openAny(name, signal);
    const result = await work(table);
    // Best effort: what was asked for is in the log.
    await table.maintain(await table.latest(signal), signal).catch(() => undefined);
    return result;
  });
}
