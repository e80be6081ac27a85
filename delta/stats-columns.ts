/** Which columns of a table get statistics (`delta.dataSkippingStatsColumns`, `delta.dataSkippingNumIndexedCols`). */

import { isStruct } from "./schema.ts";
import { numIndexedColumns } from "./table-properties.ts";
import type { DataType, StructType } from "./types.ts";

/** What of a table decides which columns get statistics: a snapshot's metadata has it, a plan for a new table, too. */
export type StatsTable = {
  schema: StructType;
  partitionColumns: readonly string[];
  configuration: Readonly<Record<string, string>>;
  /** Paths of columns that are to have statistics whatever the limit: those a table is clustered by (`clusteringColumns`). */
  clusteringColumns?: readonly (readonly string[])[];
};

export type LeafColumn = { path: readonly string[]; type: DataType };

/** Where a row came from: needed to tell what a table holds of a topic, whatever the column limit. */
const KAFKA_LEAVES = ["partition", "offset", "timestamp"];

/** The columns of each data file, structs taken apart; arrays and maps are leaves. Partition columns are not in data files. */
export function leafColumns(schema: StructType, partitionColumns: readonly string[]): LeafColumn[] {
  const walk = (type: StructType, path: readonly string[]): LeafColumn[] =>
    type.fields.flatMap((field) => {
      const here = [...path, field.name];
      return isStruct(field.type) ? walk(field.type, here) : [{ path: here, type: field.type }];
    });
  return walk(schema, []).filter(({ path }) => path.length > 1 || !partitionColumns.includes(path[0]!));
}

/** The leaf columns that statistics are written for, in schema order. */
export function indexedColumns(table: StatsTable): LeafColumn[] {
  const leaves = leafColumns(table.schema, table.partitionColumns);
  const named = table.configuration["delta.dataSkippingStatsColumns"];
  const limit = numIndexedColumns(table.configuration);
  const names = named === undefined ? undefined : splitNames(named);
  return leaves.filter((leaf, at) => {
    if (leaf.path[0] === "_kafka" && leaf.path.length === 2 && KAFKA_LEAVES.includes(leaf.path[1]!))
      return true;
    if (table.clusteringColumns?.some((column) => covers(column, leaf.path))) return true;
    return names ? names.some((name) => covers(name, leaf.path)) : limit < 0 || at < limit;
  });
}

/** `a, b.c` and `` `odd, name`.x `` as paths. */
function splitNames(list: string): string[][] {
  const names: string[][] = [];
  let path: string[] = [];
  for (const [, quoted, plain, mark] of list.matchAll(/`((?:[^`]|``)*)`|([^`,.]+)|([.,])/g)) {
    if (quoted !== undefined) path.push(quoted.replaceAll("``", "`"));
    else if (plain?.trim()) path.push(plain.trim());
    else if (mark === ",") {
      names.push(path);
      path = [];
    }
  }
  return [...names, path].filter((name) => name.length > 0);
}

function covers(name: readonly string[], path: readonly string[]): boolean {
  return name.every((part, at) => part.toLowerCase() === path[at]?.toLowerCase());
}
