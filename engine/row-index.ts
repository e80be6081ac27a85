/** The column that numbers the rows of a message. */

import { LabError } from "../core/errors.ts";
import type { StructField, StructType } from "../delta/types.ts";

/** Which of the rows of one message this is, where a transform makes several of it. */
export const INDEX_FIELD: StructField = {
  name: "_kafka_index",
  type: "integer",
  nullable: true,
  metadata: {},
};

/**
 * UNSUPPORTED_FEATURE where a schema lacks the column. Rows of one message that a route sends to several tables are told apart by it: where some
 * of them are written and the run ends, the next one could not know which.
 */
export function requireIndex({ fields }: StructType): void {
  if (fields.some(({ name }) => name === INDEX_FIELD.name)) return;
  throw new LabError(
    "UNSUPPORTED_FEATURE",
    `several rows of one message cannot be routed where the table has no column ${INDEX_FIELD.name}`,
    {
      hint: `let the table have ${INDEX_FIELD.name} INT: onUnknownField: add adds it, and a transform keeps it`,
    },
  );
}
