/** Which rows of the files are read: all of a version's, or those that a version changed, with what became of them. */

import { LabError } from "../core/errors.ts";
import type { visibleRows } from "../engine/hidden-rows.ts";
import { type Engine, quoteName } from "../engine/instance.ts";
import type { LakeRecord } from "./lake.ts";
import type { Origin } from "./origin.ts";

const CHANGES = ["delete", "update_preimage", "insert", "update_postimage"] as const;
/** As Delta's change data feed names them: what went, what was before a change, what came, what is after it. */
export type ChangeType = (typeof CHANGES)[number];

/** Of change data files; Delta allows no column of that name where these are written. */
export const CHANGE_COLUMN = "_change_type";

/**
 * What the files of a version's changes say, by their places in the list.
 * - "told": their rows say it themselves, in `_change_type` (change data files)
 * - "brought": all rows came
 * - "files": rows of "taken" files went and those of "brought" ones came, all of the file or `only` those at these positions
 */
export type ChangedParts =
  | { kind: "told" }
  | { kind: "brought" }
  | {
      kind: "files";
      parts: readonly { side: "taken" | "brought"; only?: Float64Array | undefined }[];
    };

export type Rows = {
  /** A FROM item: the rows that count of a view over files, whose places are given in the view's order. */
  of(view: string, places: readonly number[]): string;
  /** SQL of what tells the rows of one message apart. */
  index: string;
  isChange: boolean;
  /** All rows of each file count. */
  areWhole: boolean;
  /** SQL of what a row says became of it. */
  told?: string;
  /** Rows went and came with whole files: what is on both sides is to be put together. */
  arePaired: boolean;
};

/** Rows that the table hides from readers are no rows here either. */
export type Shown = ReturnType<typeof visibleRows>;

export function allRows({ index }: Origin, shown: Shown): Rows {
  const isAll = shown === undefined;
  return { of: (view) => shownOf(view, shown), index, isChange: false, areWhole: isAll, arePaired: false };
}

function shownOf(view: string, shown: Shown): string {
  const name = quoteName(view);
  return shown === undefined ? name : `(SELECT * FROM ${name} WHERE ${shown.condition})`;
}

/** Rows of changes; of a place that went and one that came, the first stands before the second. */
export async function changedRows(
  engine: Engine,
  { index }: Origin,
  { changes, shown }: { changes: ChangedParts; shown: Shown },
  signal: AbortSignal,
): Promise<Rows> {
  const of = (view: string) => shownOf(view, shown);
  const ofAll = { of, isChange: true, areWhole: shown === undefined, arePaired: false };
  if (changes.kind === "brought") return { ...ofAll, index: `(${index}) * 2 + 1` };
  if (changes.kind === "told") {
    const side = `CASE WHEN ${CHANGE_COLUMN} IN ('insert', 'update_postimage') THEN 1 ELSE 0 END`;
    return { ...ofAll, index: `(${index}) * 2 + ${side}`, told: CHANGE_COLUMN };
  }
  await engine.run(
    `CREATE TEMP TABLE changed_files (file INTEGER, side INTEGER, is_part BOOLEAN);
     CREATE TEMP TABLE changed_rows (file INTEGER, "row" BIGINT)`,
    { signal },
  );
  const { parts } = changes;
  const lines = parts.map(
    ({ side, only }, file) => `(${file}, ${side === "taken" ? 0 : 1}, ${only !== undefined})`,
  );
  if (lines.length > 0) await engine.run(`INSERT INTO changed_files VALUES ${lines.join(", ")}`, { signal });
  const appender = await engine.connection.createAppender("changed_rows", "main", "temp");
  try {
    for (const [file, { only }] of parts.entries()) {
      for (const row of only ?? []) {
        appender.appendInteger(file);
        appender.appendBigInt(BigInt(row));
        appender.endRow();
      }
    }
  } finally {
    appender.closeSync();
  }
  return {
    of: (view, places) =>
      `(SELECT w.*, f.side AS "lab side" FROM ${of(view)} AS w
        JOIN changed_files AS f ON f.file = ([${places.join(", ")}]::INTEGER[])[w."lab file" + 1]
        WHERE NOT f.is_part OR (f.file, w."lab row") IN (SELECT (file, "row") FROM changed_rows))`,
    index: `(${index}) * 2 + "lab side"`,
    isChange: true,
    areWhole: false,
    arePaired: true,
  };
}

/** What became of a row: as it says itself, else by its side. CORRUPT_LOG for what the protocol does not name. */
export function changeOf(index: number, told: string | undefined): ChangeType {
  if (told === undefined) return index % 2 === 0 ? "delete" : "insert";
  const known = CHANGES.find((one) => one === told);
  if (known !== undefined) return known;
  throw new LabError("CORRUPT_LOG", `a change data file holds a change of type ${told}`, {
    hint: `Delta knows ${CHANGES.join(", ")}: another writer made it`,
    details: { changeType: told },
  });
}

/**
 * A rewritten file takes all its rows out and brings most of them back. Of two that stand at one place those that say the same are left out, and
 * others are what was before an update and after it; they are never in two lists.
 */
export async function* withoutUnchanged(lists: AsyncIterable<LakeRecord[]>): AsyncGenerator<LakeRecord[]> {
  let gone: LakeRecord | undefined;
  for await (const list of lists) {
    const changed: LakeRecord[] = [];
    for (const record of list) {
      if (gone !== undefined && isSuccessor(gone, record)) {
        if (!saysTheSame(gone, record))
          changed.push({ ...gone, change: "update_preimage" }, { ...record, change: "update_postimage" });
        gone = undefined;
        continue;
      }
      if (gone !== undefined) changed.push(gone);
      gone = record.change === "delete" ? record : undefined;
      if (gone === undefined) changed.push(record);
    }
    yield changed;
  }
  if (gone !== undefined) yield [gone];
}

function isSuccessor(gone: LakeRecord, { partition, generation, offset, index }: LakeRecord): boolean {
  const isHere = gone.partition === partition && gone.generation === generation && gone.offset === offset;
  return isHere && gone.index + 1 === index;
}

function saysTheSame(a: LakeRecord, b: LakeRecord): boolean {
  if (a.timestampMs !== b.timestampMs || !isSame(a.key, b.key) || !isSame(a.value, b.value)) return false;
  return (
    a.headers.length === b.headers.length &&
    a.headers.every(([name, value], n) => name === b.headers[n]![0] && isSame(value, b.headers[n]![1]))
  );
}

function isSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
