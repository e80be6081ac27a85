/** A version of a table as one SELECT that needs nothing beside it: what a statement may read without a view that is made for it. */

import type { StructField } from "../delta/types.ts";
import { mappingMode } from "./column-mapping.ts";
import { quoteName } from "./instance.ts";
import { isSpelledByFiles } from "./nested-ids.ts";
import { foldCase } from "./prune-columns.ts";
import {
  literalPath,
  type RelationOptions,
  type ScanFile,
  scanFlags,
  schemaByName,
  valueInScan,
} from "./scan.ts";
import { partitionConstants } from "./scan-tables.ts";

/** A relation needs a column, and so may be asked for none. */
const NO_COLUMN = 'NULL AS "lab nothing"';

/**
 * The rows that the view of `createRelation` has, in the order of the files; undefined where that takes more than a text. Of the columns only
 * `names` (with the case of letters folded), where they are given: names that no column has are passed over. `listOf`
 * says how the text names its files, and `constantOf` what stands for a constant expression.
 */
export async function relationText({
  table,
  files,
  names,
  listOf,
  constantOf,
}: {
  table: RelationOptions["table"];
  files: readonly ScanFile[];
  names: ReadonlySet<string> | undefined;
  listOf: (paths: readonly string[]) => string;
  constantOf: (sql: string) => Promise<string>;
}): Promise<string | undefined> {
  const mode = mappingMode(table);
  const isPlain = files.every(({ deleted, only }) => deleted === undefined && only === undefined);
  if (mode === "id" || isSpelledByFiles(table) || files.length === 0 || !isPlain) return undefined;
  const columns = table.schema.fields
    .map((field, index) => ({ field, inner: `c${index}` }))
    .filter(({ field }) => names === undefined || names.has(foldCase(field.name)));
  const isPartition = ({ name }: StructField) => table.partitionColumns.includes(name);
  const parts = columns.map(({ field }) => field).filter(isPartition);
  const constants = partitionConstants(parts, files, mode);
  if (constants === undefined) return undefined;
  const inFiles = columns.filter(({ field }) => !isPartition(field) && field.type !== "void");
  const paths = listOf(files.map(({ file }) => literalPath(file)));
  const schema = await constantOf(schemaByName(inFiles, mode));
  const scan = `read_parquet(${paths}, schema = ${schema}, ${scanFlags(table)})`;
  const values = columns.map(({ field, inner }) => {
    const value = constants.get(field) ?? valueInScan(inner, field, mode);
    return `${value} AS ${quoteName(field.name)}`;
  });
  return `SELECT ${values.length > 0 ? values.join(", ") : NO_COLUMN} FROM ${scan} AS f`;
}
