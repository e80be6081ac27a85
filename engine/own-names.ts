/** Names that are put beside the columns of a table while its rows are looked at and written. */

import { LabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";

/** Those of rows' places, order and partitions. */
export const HELPERS = /^lab (file|row|rows|z|part|route|rank \d+|combination|key \d+)$/i;

/** UNSUPPORTED_FEATURE where a column of the table has the name of one that is put beside it: one would be taken for the other. */
export function requireOwnNames({ fields }: StructType): void {
  const taken = fields.find(({ name }) => HELPERS.test(name));
  if (taken === undefined) return;
  throw new LabError(
    "UNSUPPORTED_FEATURE",
    `rows with a column "${taken.name}" cannot be written here: the name is needed while rows are written`,
    { hint: "name the column otherwise", details: { column: taken.name } },
  );
}
