/** The rows of a batch as data files: as they were staged where that is all, else together with values of the rows that they replace. */

import type { Add, Cdc } from "../../delta/actions.ts";
import { dataFilePath } from "../../delta/partition-path.ts";
import { encodePath } from "../../delta/path.ts";
import { isStruct } from "../../delta/schema.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import type { StructField } from "../../delta/types.ts";
import type { BadRecord } from "../../engine/encoder.ts";
import { quoteName, quoteText } from "../../engine/instance.ts";
import { CURRENT } from "../../engine/row-expression.ts";
import { FILE_PLACE, ROW_PLACE } from "../../engine/scan.ts";
import { sqlType } from "../../engine/sql-types.ts";
import type { Workbench } from "../../upkeep/workbench.ts";
import { CDC_FIELD } from "./cdc-field.ts";
import { unmet } from "./demands.ts";
import type { IndexedFile } from "./key-index.ts";
import { stagedRows } from "./key-meet.ts";
import { isAsStaged, isMixed, type NewRow, type Plan, sourcesOf } from "./plan.ts";
import type { Staged } from "./stage.ts";

export type Written = {
  adds: Add[];
  cdcs: Cdc[];
  /** The file of `adds` has the rows of the staged one, in their order. */
  isAsStaged: boolean;
};

/** Rows that the table cannot take, by their places in the staged file: nothing was written. */
export type Unmet = { unmet: readonly BadRecord[] };

export type WriteOptions = {
  table: Table;
  /** With the schema of the new rows. */
  snapshot: Snapshot;
  /** As the stored rows are read. */
  before: Snapshot;
  /** Whether the change data feed is told. */
  hasFeed: boolean;
  bench: () => Promise<Workbench>;
  /** Told of a file that is stored beside those of the workbench. */
  onStored: (path: string) => void;
  now: () => number;
  signal: AbortSignal;
};

const NEW_ROWS = '"lab new rows"';
const VERDICTS = '"lab verdicts"';

/** The staged file is moved away where its rows need no work, and only parted where they are of several partitions. */
export async function writeRows(plan: Plan, staged: Staged, options: WriteOptions): Promise<Written | Unmet> {
  const { table, snapshot, now, signal, hasFeed } = options;
  const { file } = staged;
  const isUnchanged = staged.demands === null && isAsStaged(plan, staged.places.length);
  if (!hasFeed && (plan.rows.length === 0 || file === null)) return { adds: [], cdcs: [], isAsStaged: false };
  if (!hasFeed && file !== null && isUnchanged && snapshot.partitionColumns.length > 0) {
    const bench = await options.bench();
    const rows = `(SELECT ${typed(snapshot, asStaged)} FROM ${stagedRows(file.file)} AS s)`;
    return {
      adds: await bench.write(snapshot, rows, { dataChange: true, signal }),
      cdcs: [],
      isAsStaged: false,
    };
  }
  if (!hasFeed && file !== null && isUnchanged) {
    const path = dataFilePath([], {});
    options.onStored(path);
    await table.store.put(path, { file: file.file }, signal);
    const { size, stats } = file;
    const add = { path: encodePath(path), partitionValues: {}, size, stats, modificationTime: now() };
    return { adds: [{ ...add, dataChange: true }], cdcs: [], isAsStaged: true };
  }
  const bench = await options.bench();
  const lines = await loadVerdicts(bench, plan, hasFeed, options);
  if (file !== null && plan.rows.length > 0) {
    await makeRows(bench, plan, file.file, options);
    const rows = { schema: snapshot.schema, from: NEW_ROWS, place: '"lab row"' };
    const bad = staged.demands === null ? [] : await unmet(bench.engine, snapshot, rows, signal);
    if (bad.length > 0) return { unmet: bad };
  }
  const adds =
    file !== null && plan.rows.length > 0
      ? await bench.write(snapshot, NEW_ROWS, { dataChange: true, signal })
      : [];
  const cdcs = hasFeed && lines > 0 ? await writeFeed(bench, plan, options) : [];
  // The bench stays.
  await bench.engine.run(`DROP TABLE IF EXISTS ${NEW_ROWS}`, { signal });
  return { adds, cdcs, isAsStaged: false };
}

/** Makes view `current` over the stored rows that are needed, and a table with what becomes of each staged and stored row. */
async function loadVerdicts(
  bench: Workbench,
  plan: Plan,
  hasFeed: boolean,
  { before, signal }: WriteOptions,
): Promise<number> {
  const needed = hasFeed ? plan.retired : sourcesOf(plan);
  const places = new Map<IndexedFile, number>();
  for (const { file } of needed) if (!places.has(file)) places.set(file, places.size);
  await bench.view(
    CURRENT,
    before,
    [...places.keys()].map(({ add }) => add),
    signal,
  );
  const stored = (row: NewRow["stored"]) =>
    row && places.has(row.file) ? { place: places.get(row.file)!, row: row.row } : { place: null, row: null };
  const lines = [
    ...plan.rows.map(({ at, stored: row, isFill, columns, missing, keepsPosition, effect }) => ({
      ...{ at, ...stored(row), fills: isFill, columns, missing, keeps: keepsPosition, effect },
    })),
    ...plan.truncated
      .filter(({ isDeleted }) => !isDeleted)
      .map((row) => ({
        ...{
          at: null,
          ...stored(row),
          fills: false,
          columns: [],
          missing: [],
          keeps: false,
          effect: "delete",
        },
      })),
  ];
  // As VALUES they would take longer to parse than all the rest takes.
  await bench.engine.run(
    `CREATE OR REPLACE TEMP TABLE ${VERDICTS} AS SELECT unnest(from_json($1::JSON, ${quoteText(VERDICT_SHAPE)}), max_depth := 2)`,
    { params: [JSON.stringify(lines)], signal },
  );
  return lines.length;
}

const VERDICT_SHAPE = JSON.stringify([
  {
    ...{ at: "BIGINT", place: "BIGINT", row: "BIGINT", fills: "BOOLEAN", columns: ["VARCHAR"] },
    ...{ missing: ["VARCHAR"], keeps: "BOOLEAN", effect: "VARCHAR" },
  },
]);

/** Makes the table of new rows, with the place of each among the staged ones. */
async function makeRows(
  bench: Workbench,
  plan: Plan,
  file: string,
  { snapshot, before, signal }: WriteOptions,
): Promise<void> {
  const old = new Set(before.schema.fields.map(({ name }) => name));
  const hasFills = plan.rows.some(({ isFill }) => isFill);
  const mixed = new Set(plan.rows.flatMap(({ columns }) => columns));
  const sqlOf = (field: StructField): string => {
    const name = quoteName(field.name);
    const mine = asStaged(field);
    // The row of a deleted key has values that count for nothing.
    const stored = old.has(field.name) ? `CASE WHEN v.effect <> 'insert' THEN o.${name} END` : "NULL";
    if (field.name === CDC_FIELD.name)
      return cdcOf(field, mine, old.has(field.name) && plan.rows.some(isMixed) ? `o.${name}` : undefined);
    if (!hasFills && !mixed.has(field.name)) return mine;
    return `CASE WHEN list_contains(v.columns, ${quoteText(field.name)}) = v.fills THEN ${mine} ELSE ${stored} END`;
  };
  await bench.engine.run(
    `CREATE OR REPLACE TEMP TABLE ${NEW_ROWS} AS SELECT ${typed(snapshot, sqlOf)}, v."at" AS "lab row"
     FROM ${stagedRows(file)} AS s
     JOIN ${VERDICTS} AS v ON v."at" = s.file_row_number
     LEFT JOIN ${CURRENT} AS o ON o.${FILE_PLACE} = v.place AND o.${ROW_PLACE} = v."row" AND (v.fills OR v.keeps OR len(v.columns) > 0)`,
    { signal },
  );
}

/** A column of type void is in no file. */
const asStaged = ({ name, type }: StructField) => (type === "void" ? "NULL" : `s.${quoteName(name)}`);

/** All columns in their types, given what stands for each. */
function typed({ schema }: Snapshot, sqlOf: (field: StructField) => string): string {
  return schema.fields
    .map((field) => `CAST(${sqlOf(field)} AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`)
    .join(", ");
}

/** The column, with the stored position where the verdict keeps that, and the columns that are missing as it says. */
function cdcOf({ type }: StructField, mine: string, stored: string | undefined): string {
  const fields = isStruct(type) ? type.fields : [];
  const members = fields.map(({ name }) => {
    if (name === "missing") return "missing := CASE WHEN len(v.missing) > 0 THEN v.missing END";
    const member = quoteName(name);
    const isKept = POSITION.has(name) ? "v.fills OR v.keeps" : "v.fills";
    const value = stored
      ? `CASE WHEN ${isKept} THEN ${stored}.${member} ELSE ${mine}.${member} END`
      : `${mine}.${member}`;
    return `${member} := ${value}`;
  });
  return `struct_pack(${members.join(", ")})`;
}

const POSITION = new Set(["src", "hi", "lo", "sub", "ts", "snapshot"]);

/**
 * The feed tells of what readers see: rows that are marked as deleted are none, and neither is a change that only moves a position
 * (PROTOCOL.md, "Change Data Files").
 */
async function writeFeed(bench: Workbench, plan: Plan, options: WriteOptions): Promise<Cdc[]> {
  const { snapshot, before, signal } = options;
  const { fields } = snapshot.schema;
  const old = new Set(before.schema.fields.map(({ name }) => name));
  const names = fields.map(({ name }) => quoteName(name));
  const ofStored = fields.map((field) =>
    old.has(field.name)
      ? `CAST(o.${quoteName(field.name)} AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`
      : `CAST(NULL AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`,
  );
  const told = fields.filter(({ name }) => !["_cdc", "_kafka"].includes(name) && old.has(name));
  const rowOf = (side: string) =>
    `{${told.map(({ name }, i) => `c${i}: ${side}.${quoteName(name)}`).join(", ")}}`;
  const fresh = fields
    .filter(({ name }) => !old.has(name))
    .map(({ name }) => `n.${quoteName(name)} IS NOT NULL`);
  const changed = [`${rowOf("n")} IS DISTINCT FROM ${rowOf("o")}`, ...fresh].join(" OR ");
  const here = `o.${FILE_PLACE} = v.place AND o.${ROW_PLACE} = v."row"`;
  const hasRows = plan.rows.length > 0;
  const parts = [
    `SELECT ${ofStored.join(", ")}, 'delete' AS _change_type FROM ${CURRENT} AS o JOIN ${VERDICTS} AS v ON ${here} WHERE v.effect = 'delete'`,
  ];
  if (hasRows) {
    const pairs = `${NEW_ROWS} AS n JOIN ${VERDICTS} AS v ON v."at" = n."lab row" JOIN ${CURRENT} AS o ON ${here} WHERE v.effect = 'update' AND (${changed})`;
    const ofNew = names.map((name) => `n.${name}`).join(", ");
    parts.push(
      `SELECT ${ofStored.join(", ")}, 'update_preimage' FROM ${pairs}`,
      `SELECT ${ofNew}, 'update_postimage' FROM ${pairs}`,
      `SELECT ${ofNew}, 'insert' FROM ${NEW_ROWS} AS n JOIN ${VERDICTS} AS v ON v."at" = n."lab row" WHERE v.effect = 'insert'`,
    );
  }
  await bench.engine.run(`CREATE OR REPLACE TEMP TABLE "lab feed" AS ${parts.join(" UNION ALL ")}`, {
    signal,
  });
  return bench.writeChanges(snapshot, '"lab feed"', signal, { evenNone: true });
}
