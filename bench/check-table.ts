/** What a run left behind, counted by Python's deltalake: no run is believed without. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { pythonPackages } from "./python.ts";

export type Written = { files: number; bytes: number };

/** Columns that tell one message from all others, by who wrote the table. */
export const IDENTITY = {
  /** Ours: the place in Kafka. */
  kafka: "(CAST(_kafka['partition'] AS BIGINT) * 1099511627776 + _kafka['offset'])",
  /** Peers with the transforms that keep it. */
  meta: "(CAST(meta['kafka']['partition'] AS BIGINT) * 1099511627776 + meta['kafka']['offset'])",
  /** Where only the message itself is there: events are counted through, tiny ones have a random key. */
  seq: "seq",
  key: '"Key1"',
} as const;

/** INTERNAL unless the table holds each of the messages exactly once; else the size of its data files. */
export async function checkTable(
  table: string,
  { messages, identity, who }: { messages: number; identity: string; who: string },
  signal: AbortSignal,
): Promise<Written> {
  const packages = await pythonPackages(new URL("./deltalake.txt", import.meta.url), signal);
  const script = fileURLToPath(new URL("./check-table.py", import.meta.url));
  const { stdout } = await promisify(execFile)("python3", [script, table, identity], {
    env: { ...process.env, PYTHONPATH: packages },
    signal,
  });
  const found = JSON.parse(stdout) as Written & { rows: number; messages: number };
  if (found.rows !== messages || found.messages !== messages) {
    const text = `${messages} messages were produced; the table of ${who} holds ${found.rows} rows of ${found.messages} messages`;
    throw new LabError("INTERNAL", text, { details: { ...found, produced: messages } });
  }
  return { files: found.files, bytes: found.bytes };
}
