import type { Metadata } from "./actions.ts";
import { parseSchema } from "./schema.ts";
import { mappingMode } from "./writer-duties.ts";

/** As files name their partition columns: under column mapping by their physical names. */
export function partitionNames(metadata: Metadata): readonly string[] {
  const { schemaString, partitionColumns } = metadata;
  if (mappingMode(metadata) === "none") return partitionColumns;
  const { fields } = parseSchema(schemaString);
  return partitionColumns.map((column) => {
    const physical = fields.find(({ name }) => name === column)?.metadata["delta.columnMapping.physicalName"];
    return typeof physical === "string" ? physical : column;
  });
}
