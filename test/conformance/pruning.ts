/** Conformance level: for generated conditions, a query that prunes files gives the rows of one that reads them all. */

import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isLabError } from "../../core/errors.ts";
import { type LeafColumn, leafColumns } from "../../delta/stats-columns.ts";
import { quoteName, quoteText } from "../../engine/instance.ts";
import { openQuery, type Query } from "../../query/query.ts";

export type PruningOptions = {
  /** Searched for tables at every depth. They are only read. */
  tablesDir: string;
  signal: AbortSignal;
  log: (line: string) => void;
};

export type PruningResult = {
  /** Conditions that were asked both ways. */
  checked: number;
  /** Files that pruning left out, of those that the conditions were asked of: none would prove nothing. */
  files: { pruned: number; total: number };
  /** A line for each condition that gave other rows. */
  wrong: string[];
};

/** A column as SQL names it, and some values that it holds, as text. */
type Column = { sql: string; isText: boolean; values: string[] };
type Random = (below: number) => number;

const PER_TABLE = 12;
/** No column has this name, as those of tables may have any. */
const ROW = quoteName("lab row");
const DIGEST = `count(*), sum(hash(${ROW})::HUGEINT)`;

/** The newest version of each table. One that cannot be read is passed over: other levels judge refusals. */
export async function checkPruning({ tablesDir, signal, log }: PruningOptions): Promise<PruningResult> {
  const result: PruningResult = { checked: 0, files: { pruned: 0, total: 0 }, wrong: [] };
  for (const folder of await tableFolders(tablesDir)) {
    const query = openQuery({ store: tablesDir, tables: new Map([["t", join(tablesDir, folder)]]) });
    try {
      const { table } = await query.catalog.open("t", signal);
      const { version, schema } = await table.latest(signal);
      await checkVersion(query, { folder, version, leaves: leafColumns(schema, []) }, result, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isLabError(error) || error.code === "INTERNAL" || error.code === "SQL_ERROR")
        result.wrong.push(`${folder}: ${String(error)}`);
    } finally {
      await query.close();
    }
  }
  const { pruned, total } = result.files;
  log(
    `pruning: ${result.checked} conditions, ${result.wrong.length} wrong; ${pruned} of ${total} files left out`,
  );
  return result;
}

async function checkVersion(
  query: Query,
  asked: { folder: string; version: number; leaves: readonly LeafColumn[] },
  result: PruningResult,
  signal: AbortSignal,
): Promise<void> {
  const from = `FROM t ${ROW} AT (VERSION => ${asked.version})`;
  const columns = await columnsOf(query, from, asked.leaves, signal);
  if (columns.length === 0) return;
  const random = randomOf(`${asked.folder} ${asked.version}`);
  const conditions = Array.from({ length: PER_TABLE }, () => conditionOf(columns, random, 2));
  // Nothing is pruned without a WHERE: one scan of all files answers for all conditions.
  const filtered = conditions.map(
    (condition) =>
      `count(*) FILTER (WHERE ${condition}), sum(hash(${ROW})::HUGEINT) FILTER (WHERE ${condition})`,
  );
  const [whole] = (await query.query(`SELECT ${filtered.join(", ")} ${from}`, { signal })).rows;
  for (const [index, condition] of conditions.entries()) {
    const { rows, files } = await query.query(`SELECT ${DIGEST} ${from} WHERE ${condition}`, { signal });
    const [is, should] = [rows[0]!, whole!.slice(2 * index, 2 * index + 2)].map((cells) => cells.join(" "));
    result.checked++;
    result.files.total += files.total;
    result.files.pruned += files.total - files.read;
    if (is !== should) {
      const where = `${asked.folder} version ${asked.version} WHERE ${condition}`;
      result.wrong.push(`${where}: count and hash ${is} instead of ${should}`);
    }
  }
}

/** Columns of plain values, each with some that occur: bounds of statistics are among them. */
async function columnsOf(
  query: Query,
  from: string,
  leaves: readonly LeafColumn[],
  signal: AbortSignal,
): Promise<Column[]> {
  const plain = leaves.filter(({ type }) => typeof type === "string" && type !== "void" && type !== "binary");
  const names = plain.map(({ path }) => [ROW, ...path.map(quoteName)].join("."));
  if (names.length === 0) return [];
  const lists = names.map((name) => {
    const text = `CAST(${name} AS VARCHAR)`;
    return `to_json(list_distinct([min(${name})::VARCHAR, max(${name})::VARCHAR, min(${text}), any_value(${text}), median(${text})]))`;
  });
  const { rows } = await query.query(`SELECT ${lists.join(", ")} ${from}`, { signal });
  return plain.map(({ type }, index) => ({
    sql: names[index]!,
    isText: type === "string",
    values: (JSON.parse(String(rows[0]![index])) as string[]).filter((value) => !/BC|inf/.test(value)),
  }));
}

function conditionOf(columns: readonly Column[], random: Random, depth: number): string {
  const inner = () => conditionOf(columns, random, depth - 1);
  const shape = depth === 0 ? 9 : random(10);
  if (shape === 0) return `(${inner()}) OR (${inner()})`;
  if (shape <= 2) return `(${inner()}) AND (${inner()})`;
  if (shape === 3) return `NOT (${inner()})`;
  return comparisonOf(columns[random(columns.length)]!, random);
}

function comparisonOf({ sql, isText, values }: Column, random: Random): string {
  const kind = random(12);
  if (values.length === 0 || kind === 0) return `${sql} IS ${random(2) ? "NOT " : ""}NULL`;
  const value = () => quoteText(values[random(values.length)]!);
  if (kind === 1) return `${sql} IN (${value()}, ${value()})`;
  if (kind === 2) return `${sql} NOT IN (${value()}, ${value()})`;
  if (kind === 3) return `${sql} BETWEEN ${value()} AND ${value()}`;
  if (kind === 4) return `${sql} IS DISTINCT FROM ${value()}`;
  if (kind === 5 && isText) return `starts_with(${sql}, left(${value()}, 2))`;
  if (kind === 6 && isText) return `${sql} LIKE ${value()}`;
  return `${sql} ${["=", "<", "<=", ">", ">=", "<>"][random(6)]} ${value()}`;
}

/** Folders below `root` that hold a log, sorted; what is inside of a table is not looked at. */
async function tableFolders(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const logs = entries.filter((entry) => entry.isDirectory() && entry.name === "_delta_log");
  return logs.map((entry) => dirname(join(entry.parentPath, entry.name)).slice(root.length + 1)).sort();
}

/** The same conditions each time, and others for each table. */
function randomOf(seed: string): Random {
  let count = 0;
  return (below) => createHash("sha256").update(`${seed} ${count++}`).digest().readUInt32BE() % below;
}
