/** Checks data files by reading every value of them: rows, nulls and bounds against what the log says of each. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { readDeletionVector } from "../delta/deletion-vector.ts";
import { numRecords } from "../delta/file-totals.ts";
import { canonicalPath } from "../delta/path.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { locateFiles } from "../engine/data-files.ts";
import { type Engine, openEngine, type Row } from "../engine/instance.ts";
import { createRelation, FILE_PLACE } from "../engine/scan.ts";
import { type CheckedColumn, checkedColumns, compareStatistics } from "./file-statistics.ts";
import type { Findings } from "./findings.ts";
import type { Reading } from "./reading.ts";
import { type KeyRange, keyRanges } from "./row-keys.ts";

export type RowCheck = { rows: bigint; keys: KeyRange[] };

const MOST_FILES = 64;
const MOST_BYTES = 256 * 1024 * 1024;
const COPY = "restore the file from a copy, or take its rows out by lab restore to a version without it";

/**
 * Reads the files in batches; memory and time grow with one batch. The rows are those that are left after deletion vectors; `keys` says which
 * Kafka offsets each file holds.
 */
export async function verifyRows(
  store: Store,
  snapshot: Snapshot,
  adds: Iterable<Add>,
  options: {
    reading: Reading;
    damage: Findings;
    signal: AbortSignal;
    onFile: () => void;
  },
): Promise<RowCheck> {
  const columns = checkedColumns(snapshot);
  const total: RowCheck = { rows: 0n, keys: [] };
  const count = (found: RowCheck) => {
    total.rows += found.rows;
    total.keys.push(...found.keys);
  };
  for (const batch of batches(adds)) {
    try {
      count(await checkBatch(store, snapshot, columns, batch, options));
    } catch (error) {
      options.signal.throwIfAborted();
      if (isExhausted(error)) throw error;
      // One of them is damaged: each by itself tells which.
      for (const add of batch) {
        try {
          count(await checkBatch(store, snapshot, columns, [add], options));
        } catch (cause) {
          options.signal.throwIfAborted();
          if (isExhausted(cause) || isLabError(cause, "UNSUPPORTED_FEATURE") || isOutage(cause)) throw cause;
          const file = canonicalPath(store.root, add.path);
          options.damage.add({
            file,
            problem: "unreadable",
            message: `it cannot be read: ${(cause as Error).message.split("\n")[0]}`,
            hint: COPY,
          });
        }
      }
    }
    for (let done = 0; done < batch.length; done++) options.onFile();
  }
  return total;
}

function* batches(adds: Iterable<Add>): Generator<Add[]> {
  let batch: Add[] = [];
  let bytes = 0;
  for (const add of adds) {
    if (batch.length === MOST_FILES || (batch.length > 0 && bytes + add.size > MOST_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(add);
    bytes += add.size;
  }
  if (batch.length > 0) yield batch;
}

/** Findings of a batch are told only when all of it was read: one that fails is checked again, file by file. */
async function checkBatch(
  store: Store,
  snapshot: Snapshot,
  columns: readonly CheckedColumn[],
  adds: readonly Add[],
  options: { reading: Reading; damage: Findings; signal: AbortSignal },
): Promise<RowCheck> {
  const { reading, damage, signal } = options;
  const vectors = await Promise.all(
    adds.map(async ({ deletionVector }) => {
      if (!deletionVector) return undefined;
      return readDeletionVector(store, deletionVector, signal).catch((error: unknown) => error);
    }),
  );
  const cache = store.localPath === undefined ? await reading.cache() : undefined;
  const whole = adds.map(({ deletionVector, ...add }): Add => add);
  const data = await locateFiles(store, whole, cache, signal);
  const engine = await openEngine({ ...reading, preserveOrder: false });
  try {
    const table = { name: "whole", table: snapshot, withPlaces: true, signal };
    await createRelation(engine, { ...table, data });
    const files = await fileRows(engine, columns, signal);
    const live = {
      ...data,
      files: data.files.map((file, index) => {
        const deleted = vectors[index];
        return deleted instanceof Float64Array ? { ...file, deleted } : file;
      }),
    };
    await createRelation(engine, { ...table, name: "live", data: live });
    const keys = await keyRanges(engine, "live", snapshot, adds, signal);
    let rows = 0n;
    for (const [index, add] of adds.entries()) {
      const found = files.get(index);
      const physical = BigInt((found?.n as bigint | undefined) ?? 0n);
      const file = canonicalPath(store.root, add.path);
      const vector = vectors[index];
      checkRowCount(add, file, physical, damage);
      if (found)
        for (const finding of compareStatistics(add, columns, found)) damage.add({ file, ...finding });
      if (vector instanceof Error) {
        if (!isLabError(vector) || vector.retryable || vector.code === "UNSUPPORTED_FEATURE") throw vector;
        damage.add({ file, problem: "deletion-vector", message: vector.message, hint: COPY });
      } else if (vector instanceof Float64Array && Number(vector.at(-1) ?? -1) >= Number(physical)) {
        damage.add({
          file,
          problem: "deletion-vector",
          message: `its deletion vector takes out row ${vector.at(-1)} of ${physical}`,
          hint: COPY,
        });
      }
      rows += physical - BigInt(vector instanceof Float64Array ? vector.length : 0);
    }
    return { rows, keys };
  } catch (error) {
    throw await data.explain(error);
  } finally {
    engine.close();
    await data.close();
  }
}

function checkRowCount(add: Add, file: string, physical: bigint, damage: Findings): void {
  const said = numRecords(add.stats);
  if (said === undefined || said === physical) return;
  damage.add({ file, problem: "rows", message: `it has ${physical} rows, the log says ${said}`, hint: COPY });
}

/** Per file, by its place: the number of rows and what each column holds. Reading it decodes every value. */
async function fileRows(
  engine: Engine,
  columns: readonly CheckedColumn[],
  signal: AbortSignal,
): Promise<Map<number, Row>> {
  const values = columns.flatMap(({ select }) => select);
  const sql = `SELECT ${[`${FILE_PLACE} AS f`, "count(*) AS n", ...values].join(", ")} FROM whole GROUP BY 1`;
  const rows = await engine.rows(sql, { signal });
  return new Map(rows.map((row) => [Number(row.f), row]));
}

/** Out of memory says nothing about a file. */
function isExhausted(error: unknown): boolean {
  return /Out of Memory Error/.test(String((error as Error).message));
}

function isOutage(error: unknown): boolean {
  return error instanceof LabError && error.retryable;
}
