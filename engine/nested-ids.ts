/**
 * How files spell nested fields where columns are mapped by id (PROTOCOL.md, "Column Mapping"): a writer of ids may give any names, as in
 * tables that came from Iceberg. The engine finds columns by id, but what is inside of them by name only.
 */

import type { DataType, StructField } from "../delta/types.ts";
import { fieldId, physicalName } from "./column-mapping.ts";
import { type Engine, textList } from "./instance.ts";

/** An element of a file's schema. */
type Node = { name: string; id: number | undefined; children: Node[] };

/** Files in which all fields have the same names, and the fields with these as their physical names. */
export type Spelling<F> = { fields: readonly StructField[]; files: F[] };

/** One spelling for each way in which the files name what is inside of the fields. `pathOf` gives a path as the engine takes it. */
export async function spellingsOf<F>(
  engine: Engine,
  fields: readonly StructField[],
  files: readonly F[],
  options: { pathOf: (file: F) => string; signal: AbortSignal },
): Promise<Spelling<F>[]> {
  if (!fields.some(({ type }) => hasStruct(type))) return [{ fields, files: [...files] }];
  const found = new Map<string, Spelling<F>>();
  for (const file of files) {
    const rows = await engine.rows(
      `SELECT name, coalesce(num_children, 0)::INTEGER AS children, field_id::INTEGER AS id
       FROM parquet_schema(${textList([options.pathOf(file)])})`,
      { signal: options.signal },
    );
    const [root] = treeOf(rows as unknown as readonly SchemaRow[]);
    const spelled = fields.map((field) => {
      const node = root?.children.find((child) => child.id === fieldId(field));
      return node ? { ...field, type: spelledType(field.type, node) } : field;
    });
    const key = JSON.stringify(spelled);
    const spelling = found.get(key) ?? { fields: spelled, files: [] };
    spelling.files.push(file);
    found.set(key, spelling);
  }
  return [...found.values()];
}

type SchemaRow = { name: string; children: number; id: number | null };

/** The schema's elements stand parents first, each with the number of its children. */
function treeOf(rows: readonly SchemaRow[]): Node[] {
  let next = 0;
  const take = (): Node => {
    const { name, children, id } = rows[next++]!;
    const node: Node = { name, id: id ?? undefined, children: [] };
    while (node.children.length < children && next < rows.length) node.children.push(take());
    return node;
  };
  return rows.length === 0 ? [] : [take()];
}

function spelledType(type: DataType, node: Node): DataType {
  if (typeof type === "string") return type;
  if (type.type === "struct") return { ...type, fields: type.fields.map((field) => spelled(field, node)) };
  // Lists and maps have one repeated group, with the element, or key and value, in it.
  const [first, second] = node.children[0]?.children ?? [];
  if (type.type === "array")
    return first ? { ...type, elementType: spelledType(type.elementType, first) } : type;
  return first && second
    ? { ...type, keyType: spelledType(type.keyType, first), valueType: spelledType(type.valueType, second) }
    : type;
}

function spelled(field: StructField, parent: Node): StructField {
  const id = fieldId(field);
  const own = physicalName(field, "id");
  const node =
    parent.children.find((child) => child.id !== undefined && child.id === id) ??
    parent.children.find((child) => child.id === undefined && child.name === own);
  // A field that the file lacks must not be taken for another one of its name.
  const name = node?.name ?? `lab missing ${id}`;
  const metadata = { ...field.metadata, "delta.columnMapping.physicalName": name };
  return { ...field, metadata, type: node ? spelledType(field.type, node) : field.type };
}

function hasStruct(type: DataType): boolean {
  if (typeof type === "string") return false;
  if (type.type === "struct") return true;
  return type.type === "array"
    ? hasStruct(type.elementType)
    : hasStruct(type.keyType) || hasStruct(type.valueType);
}
