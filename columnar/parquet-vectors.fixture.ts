/** For tests: plain values as the vectors that the writer takes, one value at a time and by the definition of Dremel's levels. */

import type { DataType, StructType } from "../delta/types.ts";
import type { LeafValues, LeafVector } from "./leaf-vector.ts";
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

/** `hasGaps` puts a byte before each string that is none of it. */
export function vectorsOf(
  schema: StructType,
  rows: readonly Row[],
  options: { partitionColumns?: readonly string[]; hasGaps?: boolean } = {},
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
  const vectors = parquet.leaves.map((leaf, at): LeafVector => {
    const { definition, repetition, values } = columns[at]!;
    return {
      leaf,
      entries: definition.length,
      definition: leaf.maxDefinition === 0 ? null : roomy(definition),
      repetition: leaf.maxRepetition === 0 ? null : roomy(repetition),
      values: valuesOf(leaf.physical, values, options.hasGaps ?? false),
    };
  });
  return { parquet, vectors };
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

/** Longer than it has to be, with levels behind the end that must not count. */
function roomy(levels: readonly number[]): Uint8Array {
  return Uint8Array.from([...levels, 0, 1, 0]);
}

function valuesOf(physical: LeafValues["kind"], values: readonly Value[], hasGaps: boolean): LeafValues {
  const count = values.length;
  switch (physical) {
    case "boolean":
      return { kind: physical, count, bits: Uint8Array.from(values, (value) => (value ? 1 : 0)) };
    case "int32":
      return { kind: physical, count, numbers: Int32Array.from(values, (value) => Number(value)) };
    case "float":
      return { kind: physical, count, numbers: Float32Array.from(values as number[]) };
    case "double":
      return { kind: physical, count, numbers: Float64Array.from(values as number[]) };
    case "int64": {
      const low = Uint32Array.from(values, (value) => Number(BigInt.asUintN(32, value as bigint)));
      const high = Int32Array.from(values, (value) => Number(BigInt.asIntN(32, (value as bigint) >> 32n)));
      return { kind: physical, count, low, high };
    }
    case "fixed": {
      const hex = values.map((value) =>
        BigInt.asUintN(128, value as bigint)
          .toString(16)
          .padStart(32, "0"),
      );
      return { kind: physical, count, bytes: new Uint8Array(Buffer.from(hex.join(""), "hex")) };
    }
    case "bytes": {
      const pieces: Uint8Array[] = [];
      let size = 0;
      const append = (bytes: Uint8Array) => {
        pieces.push(bytes);
        size += bytes.length;
        return size - bytes.length;
      };
      const places = values.map((value) => {
        const bytes = typeof value === "string" ? Buffer.from(value) : (value as Uint8Array);
        if (hasGaps) append(Buffer.from("?"));
        return { start: append(bytes), length: bytes.length };
      });
      const start = Uint32Array.from(places, (place) => place.start);
      const length = Uint32Array.from(places, (place) => place.length);
      return { kind: physical, count, start, length, bytes: new Uint8Array(Buffer.concat(pieces)) };
    }
  }
}
