/** What tests of tables share: a small schema, files, and commits that are expected to succeed. */

import assert from "node:assert/strict";
import type { Add, Remove } from "./actions.ts";
import type { CommitRequest, CommitResult, Table } from "./table.ts";
import type { StructType } from "./types.ts";

export const signal = new AbortController().signal;

export const schema: StructType = {
  type: "struct",
  fields: [{ name: "id", type: "long", nullable: true, metadata: {} }],
};

/** Options under which retries take no time. */
export const quick = { outages: { firstMs: 1, maxMs: 2 }, random: () => 0 };

export function file(name: string, over: Partial<Add> = {}): Add {
  return { path: name, partitionValues: {}, size: 10, modificationTime: 1, dataChange: true, ...over };
}

export function removal(name: string, over: Partial<Remove> = {}): Remove {
  return {
    path: name,
    dataChange: true,
    deletionTimestamp: 1,
    extendedFileMetadata: true,
    partitionValues: {},
    size: 10,
    ...over,
  };
}

export type Committed = Extract<CommitResult, { kind: "committed" }>;

export function committed(result: CommitResult): Committed {
  assert.equal(result.kind, "committed", JSON.stringify(result.kind === "conflict" && result));
  return result as Committed;
}

/** Commits on the newest version. */
export async function commit(table: Table, request: Partial<CommitRequest>): Promise<CommitResult> {
  const readSnapshot = await table.latest(signal);
  return table.commit({ readSnapshot, operation: "WRITE", ...request }, signal);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
