/**
 * How files spell nested fields where columns are mapped (PROTOCOL.md, "Column Mapping"). By id, a writer may give them any names, as in tables
 * that came from Iceberg; the engine finds columns by id, but what is inside of them by name only. In both modes a struct may be in a file that
 * has none of its fields, as they were added and all others dropped since; the engine reads a struct by a field that both have, or not at all.
 */

import { placesOf } from "../delta/schema-places.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { anchor, fieldId, mappingMode, physicalName } from "./column-mapping.ts";
import { type Engine, textList } from "./instance.ts";

/** An element of a file's schema. */
type Node = { name: string; id: number | undefined; children: Node[] };

/** Files in which all fields have the same names, and the fields with these as their physical names. */
export type Spelling<F> = { fields: readonly StructField[]; files: F[] };

/** Of which the footers are read by one statement. */
const FILES_AT_ONCE = 200;

/** Whether only the files can say how they spell the fields of this table. */
export function isSpelledByFiles(table: Pick<Snapshot, "schema" | "protocol" | "metadata">): boolean {
  const mode = mappingMode(table);
  if (mode === "none" || !table.schema.fields.some(({ type }) => hasStruct(type))) return false;
  return mode === "id" || lostFields(table);
}

/** Whether a field was dropped: ids are given out once, and the highest one is kept. */
function lostFields({ schema, metadata }: Pick<Snapshot, "schema" | "metadata">): boolean {
  const highest = Number(metadata.configuration["delta.columnMapping.maxColumnId"] ?? Number.NaN);
  const ids = new Set<unknown>();
  for (const place of placesOf(schema)) ids.add(place.metadata["delta.columnMapping.id"]);
  ids.delete(undefined);
  return ids.size !== highest;
}

/** One spelling for each way in which the files name what is inside of the fields. `pathOf` gives a path as the engine takes it. */
export async function spellingsOf<F>(
  engine: Engine,
  table: Pick<Snapshot, "schema" | "protocol" | "metadata">,
  files: readonly F[],
  options: { pathOf: (file: F) => string; signal: AbortSignal },
): Promise<Spelling<F>[]> {
  const { fields } = table.schema;
  if (!isSpelledByFiles(table)) return [{ fields, files: [...files] }];
  const nodeOf = mappingMode(table) === "id" ? nodeById : nodeByName;
  const found = new Map<string, Spelling<F>>();
  const note = (file: F, root: Node | undefined) => {
    const spelled = fields.map((field) => {
      const node = root && nodeOf(root, field, true);
      return node ? { ...field, type: spelledType(field.type, node, nodeOf) } : field;
    });
    const key = JSON.stringify(spelled);
    const spelling = found.get(key) ?? { fields: spelled, files: [] };
    spelling.files.push(file);
    found.set(key, spelling);
  };
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const some = files.slice(at, at + FILES_AT_ONCE);
    const rows = await engine.rows(
      `SELECT name, coalesce(num_children, 0)::INTEGER AS children, field_id::INTEGER AS id
       FROM parquet_schema(${textList(some.map(options.pathOf))})`,
      { signal: options.signal },
    );
    const roots = treesOf(rows as unknown as readonly SchemaRow[]);
    for (const [index, file] of some.entries()) note(file, roots[index]);
  }
  return [...found.values()];
}

type SchemaRow = { name: string; children: number; id: number | null };

/** The elements of each file stand parents first, each with the number of its children. */
function treesOf(rows: readonly SchemaRow[]): Node[] {
  let next = 0;
  const take = (): Node => {
    const { name, children, id } = rows[next++]!;
    const node: Node = { name, id: id ?? undefined, children: [] };
    while (node.children.length < children && next < rows.length) node.children.push(take());
    return node;
  };
  const roots: Node[] = [];
  while (next < rows.length) roots.push(take());
  return roots;
}

/** The element that a field has among the children of another one; a column has to have its id where columns go by id. */
type Finder = (parent: Node, field: StructField, isColumn?: boolean) => Node | undefined;

const nodeById: Finder = (parent, field, isColumn = false) => {
  const [id, own] = [fieldId(field), physicalName(field, "id")];
  const byId = parent.children.find((child) => child.id === id && (isColumn || id !== undefined));
  if (byId || isColumn) return byId;
  return parent.children.find((child) => child.id === undefined && child.name === own);
};

const nodeByName: Finder = (parent, field) => {
  const own = physicalName(field, "name");
  const folded = own.toLowerCase();
  return (
    parent.children.find(({ name }) => name === own) ??
    parent.children.find(({ name }) => name.toLowerCase() === folded)
  );
};

function spelledType(type: DataType, node: Node, nodeOf: Finder): DataType {
  if (typeof type === "string") return type;
  if (type.type === "struct") {
    const nodes = type.fields.map((field) => nodeOf(node, field));
    const fields = type.fields.map((field, index) => spelled(field, nodes[index], nodeOf));
    const [any] = node.children;
    if (any && nodes.every((found) => found === undefined)) fields.push(anchor(any.name));
    return { ...type, fields };
  }
  // Lists and maps have one repeated group, with the element, or key and value, in it.
  const [first, second] = node.children[0]?.children ?? [];
  if (type.type === "array")
    return first ? { ...type, elementType: spelledType(type.elementType, first, nodeOf) } : type;
  return first && second
    ? {
        ...type,
        keyType: spelledType(type.keyType, first, nodeOf),
        valueType: spelledType(type.valueType, second, nodeOf),
      }
    : type;
}

function spelled(field: StructField, node: Node | undefined, nodeOf: Finder): StructField {
  // A field that the file lacks must not be taken for another one of its name.
  const name = node?.name ?? `lab missing ${fieldId(field)}`;
  const metadata = { ...field.metadata, "delta.columnMapping.physicalName": name };
  return { ...field, metadata, type: node ? spelledType(field.type, node, nodeOf) : field.type };
}

function hasStruct(type: DataType): boolean {
  if (typeof type === "string") return false;
  if (type.type === "struct") return true;
  return type.type === "array"
    ? hasStruct(type.elementType)
    : hasStruct(type.keyType) || hasStruct(type.valueType);
}
