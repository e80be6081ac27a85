/** What each row of a table has to fulfil (PROTOCOL.md, "CHECK Constraints", "Column Invariants"). */

import { LabError } from "../core/errors.ts";
import type { Metadata } from "./actions.ts";
import { parseJson } from "./json.ts";
import { placesOf } from "./schema-places.ts";
import type { DataType, StructType } from "./types.ts";

export type Constraint = {
  kind: "check" | "invariant" | "notNull";
  /** Of a check its name in `delta.constraints.*`, else the column, joined by dots. */
  name: string;
  /** Spark SQL over a row. It must be true: null is a violation, too. */
  expression: string;
  /** The column it stands at, with `element`, `key` and `value` inside of arrays and maps; empty for a check. */
  path: readonly string[];
};

export const CHECK_PREFIX = "delta.constraints.";

/**
 * All constraints of a table: checks, then invariants, then what may not be null, in schema order. A null parent has no children that could be
 * null wrongly, and says so in the expression. Whether the protocol lists the feature is not asked. CORRUPT_LOG for an invariant that is no JSON.
 */
export function constraintsOf(metadata: Pick<Metadata, "configuration">, schema: StructType): Constraint[] {
  const checks = Object.entries(metadata.configuration)
    .filter(([key]) => key.startsWith(CHECK_PREFIX))
    .map(
      ([key, expression]): Constraint => ({
        kind: "check",
        name: key.slice(CHECK_PREFIX.length),
        expression,
        path: [],
      }),
    );
  const invariants = [...placesOf(schema)]
    .filter((place) => "delta.invariants" in place.metadata)
    .map(({ path, metadata: field }): Constraint => {
      const name = path.join(".");
      return { kind: "invariant", name, expression: invariantOf(field["delta.invariants"], name), path };
    });
  return [...checks, ...invariants, ...notNulls(schema)];
}

/** `{"expression":{"expression":"x > 3"}}`, as JSON in a string. */
function invariantOf(value: unknown, column: string): string {
  try {
    const { expression } = (parseJson(String(value)) as { expression: { expression: unknown } }).expression;
    if (typeof expression === "string") return expression;
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof TypeError)) throw cause;
  }
  throw new LabError("CORRUPT_LOG", `the invariant of column ${column} cannot be read: ${String(value)}`, {
    details: { column },
  });
}

/** Puts a condition on a place into one on the row. */
type Around = (condition: string) => string;

function* notNulls(
  type: DataType,
  value = "",
  path: readonly string[] = [],
  around: Around = (condition) => condition,
): Generator<Constraint> {
  if (typeof type === "string") return;
  for (const inner of insideOf(type, value, path.length)) {
    const here = [...path, inner.name];
    const wrap: Around = (condition) =>
      around(value === "" ? condition : `${value} IS NULL OR ${inner.around(condition)}`);
    if (!inner.nullable)
      yield {
        kind: "notNull",
        name: here.join("."),
        expression: wrap(`${inner.value} IS NOT NULL`),
        path: here,
      };
    yield* notNulls(inner.type, inner.value, here, wrap);
  }
}

type Inside = { name: string; value: string; type: DataType; nullable: boolean; around: Around };

function insideOf(type: Exclude<DataType, string>, value: string, depth: number): Inside[] {
  if (type.type === "struct")
    return type.fields.map((field) => ({
      name: field.name,
      value: value === "" ? quoted(field.name) : `${value}.${quoted(field.name)}`,
      type: field.type,
      nullable: field.nullable,
      around: (condition) => `(${condition})`,
    }));
  const each = (items: string): Pick<Inside, "value" | "around"> => {
    const item = `x${depth}`;
    return { value: item, around: (condition) => `forall(${items}, ${item} -> ${condition})` };
  };
  if (type.type === "array")
    return [{ name: "element", type: type.elementType, nullable: type.containsNull, ...each(value) }];
  const { keyType, valueType, valueContainsNull } = type;
  return [
    { name: "key", type: keyType, nullable: true, ...each(`map_keys(${value})`) },
    { name: "value", type: valueType, nullable: valueContainsNull, ...each(`map_values(${value})`) },
  ];
}

function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
