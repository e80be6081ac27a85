/**
 * Columns that a message leaves out because they did not change: Postgres keeps large values beside the row, and where an update does not
 * touch them Debezium sends a placeholder instead, in the form that the column's type has.
 */

import type { JsonValue } from "../engine/json-parse.ts";

export const DEFAULT_PLACEHOLDER = "__debezium_unavailable_value";

/** Whether a column's value is the placeholder. One that begins with `hex:` is given by its bytes. */
export function placeholderTest(placeholder: string): (value: JsonValue) => boolean {
  const bytes = placeholder.startsWith("hex:")
    ? Buffer.from(placeholder.slice(4), "hex")
    : Buffer.from(placeholder);
  const forms = new Set([placeholder, bytes.toString("utf8"), bytes.toString("base64")]);
  const isText = (value: JsonValue | undefined) => typeof value === "string" && forms.has(value);
  return (value) => isText(value) || (Array.isArray(value) && value.length === 1 && isText(value[0]));
}
