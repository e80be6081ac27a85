/** For tests: plain values as the vectors that the writer takes, one value at a time and by the definition of Dremel's levels. */

import type { DataType, StructType } from "../delta/types.ts";
import type { Columns } from "./columns.ts";
import { LeafVector } from "./leaf-vector.ts";
import { type ParquetSchema, parquetSchema } from "./parquet-schema.ts";

/**
 * A struct is an object, an array an array, a map an array of pairs. Whole numbers of 8 bytes, times and decimals (unscaled) are bigint, a date is
 * its days.
 */
export type Value =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Value[]
  | { readonly [name: string]: Value };

export type Row = { readonly [name: string]: Value };

type Column = { definition: number[]; repetition: number[]; values: Value[] };

export function vectorsOf(
  module: Columns,
  schema: StructType,
  rows: readonly Row[],
  options: { partitionColumns?: readonly string[] } = {},
): { parquet: ParquetSchema; vectors: LeafVector[] } {
  const partitionColumns = options.partitionColumns ?? [];
  const fields = schema.fields.filter(({ name }) => !partitionColumns.includes(name));
  const parquet = parquetSchema(schema, partitionColumns);
  const columns = parquet.leaves.map((): Column => ({ definition: [], repetition: [], values: [] }));
  for (const row of rows) {
    let leaf = 0;
    for (const { name, type, nullable } of fields) {
      shred(columns.slice(leaf), type, nullable, row[name], { repetition: 0, definition: 0, depth: 0 });
      leaf += leavesOf(type);
    }
  }
  const vectors = parquet.leaves.map((leaf, at) => {
    const { definition, repetition, values } = columns[at]!;
    const vector = new LeafVector(module, leaf);
    vector.begin(0);
    let next = 0;
    for (const [entry, level] of definition.entries()) {
      if (level < leaf.maxDefinition) vector.addNull(repetition[entry]!, level);
      else addValue(vector, repetition[entry]!, values[next++]!);
    }
    return vector;
  });
  return { parquet, vectors };
}

function addValue(vector: LeafVector, repetition: number, value: NonNullable<Value>): void {
  if (typeof value === "boolean") vector.addBoolean(repetition, value);
  else if (typeof value === "number") vector.addNumber(repetition, value);
  else if (typeof value === "bigint") vector.addWhole(repetition, value);
  else vector.addBytes(repetition, typeof value === "string" ? Buffer.from(value) : (value as Uint8Array));
}

type Levels = { repetition: number; definition: number; depth: number };

function shred(columns: Column[], type: DataType, isNullable: boolean, value: Value, levels: Levels): void {
  const { repetition, depth } = levels;
  const nothing = (definition: number) => {
    for (const column of columns.slice(0, leavesOf(type))) {
      column.definition.push(definition);
      column.repetition.push(repetition);
    }
  };
  if (value === null || value === undefined) {
    nothing(levels.definition);
    return;
  }
  const definition = levels.definition + (isNullable ? 1 : 0);
  if (typeof type === "string") {
    nothing(definition);
    columns[0]!.values.push(value);
    return;
  }
  if (type.type === "struct") {
    let leaf = 0;
    for (const field of type.fields) {
      const own = (value as Row)[field.name];
      shred(columns.slice(leaf), field.type, field.nullable, own, { repetition, definition, depth });
      leaf += leavesOf(field.type);
    }
    return;
  }
  const items = value as readonly Value[];
  if (items.length === 0) nothing(definition);
  for (const [i, item] of items.entries()) {
    const inner = {
      repetition: i === 0 ? repetition : depth + 1,
      definition: definition + 1,
      depth: depth + 1,
    };
    if (type.type === "array") shred(columns, type.elementType, type.containsNull, item, inner);
    else {
      const [key, mapped] = item as readonly Value[];
      shred(columns, type.keyType, false, key, inner);
      const behind = columns.slice(leavesOf(type.keyType));
      shred(behind, type.valueType, type.valueContainsNull, mapped, inner);
    }
  }
}

function leavesOf(type: DataType): number {
  if (type === "void") return 0;
  if (typeof type === "string") return 1;
  if (type.type === "array") return leavesOf(type.elementType);
  if (type.type === "map") return leavesOf(type.keyType) + leavesOf(type.valueType);
  return type.fields.reduce((sum, field) => sum + leavesOf(field.type), 0);
}
