/** Words of the user's world in SQL. */

import { LabError } from "../core/errors.ts";

export const sqlName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** USAGE for text that SQL cannot hold. */
export function sqlText(value: string): string {
  if (value.includes("\0"))
    throw new LabError("USAGE", `${JSON.stringify(value)} has a NUL byte, which no name has`);
  return `'${value.replaceAll("'", "''")}'`;
}
