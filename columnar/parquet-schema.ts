/** A table's schema as Parquet has it: the tree for the footer, and its leaves in the order of the columns of a file. */

import { LabError } from "../core/errors.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType, PrimitiveType, StructField, StructType } from "../delta/types.ts";
import { fieldId, type MappingMode, physicalName } from "../engine/column-mapping.ts";
import type { Leaf, Physical } from "./leaf-vector.ts";

/** An element of the tree; parents stand before their children. A group has no `leaf`. */
export type SchemaElement = {
  name: string;
  repetition: "required" | "optional" | "repeated";
  /** 0 for a leaf. */
  children: number;
  /** What a group stands for; absent for a struct and for the repeated group inside of a list or map. */
  group?: "list" | "map";
  leaf?: Leaf;
  fieldId?: number | undefined;
};

export type ParquetSchema = {
  /** Without the root. */
  elements: readonly SchemaElement[];
  /** Columns at the top. */
  columns: number;
  leaves: readonly Leaf[];
};

/**
 * The form that Spark and delta-rs write: lists of three levels (`list.element`), maps of `key_value` with `key` and `value`. Partition columns and
 * those of type void are left out. A leaf's definition level counts each nullable field, element and value on the way, and each array and map.
 * UNSUPPORTED_FEATURE for a type that no column of a file can have: a struct without fields, void inside of an array or map, variant.
 */
export function parquetSchema(
  schema: StructType,
  partitionColumns: readonly string[],
  mode: MappingMode = "none",
): ParquetSchema {
  const elements: SchemaElement[] = [];
  const leaves: Leaf[] = [];

  function addField(field: StructField, at: Place): number {
    if (field.type === "void") return 0;
    const name = physicalName(field, mode);
    const id = mode === "none" ? undefined : fieldId(field);
    add(name, field.type, field.nullable, { ...at, stats: at.stats && [...at.stats, name] }, id);
    return 1;
  }

  function add(name: string, type: DataType, isNullable: boolean, at: Place, id?: number): void {
    const element: SchemaElement = { name, repetition: isNullable ? "optional" : "required", children: 0 };
    if (id !== undefined) element.fieldId = id;
    elements.push(element);
    const path = [...at.path, name];
    const here = { ...at, path, definition: at.definition + (isNullable ? 1 : 0) };
    if (typeof type === "string") {
      element.leaf = leafOf(type, here);
      leaves.push(element.leaf);
    } else if (type.type === "struct") {
      for (const field of type.fields) element.children += addField(field, here);
      if (element.children === 0) throw unsupported("struct<>", path);
    } else {
      const isMap = type.type === "map";
      element.group = isMap ? "map" : "list";
      element.children = 1;
      const inner = isMap ? "key_value" : "list";
      elements.push({ name: inner, repetition: "repeated", children: isMap ? 2 : 1 });
      const entry: Place = {
        path: [...path, inner],
        stats: undefined,
        definition: here.definition + 1,
        repetition: here.repetition + 1,
      };
      if (isMap) {
        add("key", type.keyType, false, entry);
        add("value", type.valueType, type.valueContainsNull, entry);
      } else add("element", type.elementType, type.containsNull, entry);
    }
  }

  let columns = 0;
  for (const field of schema.fields) {
    if (!partitionColumns.includes(field.name)) columns += addField(field, ROOT);
  }
  return { elements, columns, leaves };
}

/** How a decimal lies in a file, by its digits. */
export function decimalPhysical(precision: number): Physical {
  return precision <= 9 ? "int32" : precision <= 18 ? "int64" : "fixed";
}

type Place = {
  path: readonly string[];
  stats: readonly string[] | undefined;
  definition: number;
  repetition: number;
};

const ROOT: Place = { path: [], stats: [], definition: 0, repetition: 0 };

const PHYSICAL: Readonly<Record<string, Physical>> = {
  boolean: "boolean",
  byte: "int32",
  short: "int32",
  integer: "int32",
  date: "int32",
  long: "int64",
  timestamp: "int64",
  timestamp_ntz: "int64",
  float: "float",
  double: "double",
  string: "bytes",
  binary: "bytes",
};

/** How values of a type lie in a file; undefined where they cannot. */
export function physicalOf(type: PrimitiveType): Physical | undefined {
  const decimal = decimalOf(type);
  return decimal ? decimalPhysical(decimal.precision) : PHYSICAL[type];
}

function leafOf(type: PrimitiveType, at: Place): Leaf {
  const physical = physicalOf(type);
  if (physical === undefined || type === "variant" || type === "void") throw unsupported(type, at.path);
  return {
    parquetPath: at.path,
    statsPath: at.stats,
    type,
    physical,
    maxDefinition: at.definition,
    maxRepetition: at.repetition,
  };
}

function unsupported(type: string, path: readonly string[]): LabError {
  const column = path.join(".");
  return new LabError("UNSUPPORTED_FEATURE", `column ${column} of type ${type} cannot be written`, {
    hint: "write to the table with an engine that knows the type, such as Spark",
    details: { feature: type, column },
  });
}
