/** What the engine complains of while it reads and sorts, with the way out. */

import { LabError } from "../core/errors.ts";
import type { DataFiles } from "../engine/scan.ts";
import { NO_FORM } from "./json-row.ts";

/** The error as one that says what to do, where it is known what it means; any other is given back. */
export async function explainFailure(error: unknown, data: DataFiles): Promise<unknown> {
  const found = await data.explain(error);
  if (!(found instanceof Error) || found instanceof LabError) return found;
  const [first] = found.message.split("\n");
  if (/^Out of Memory Error/.test(found.message))
    return new LabError("QUERY_LIMIT", `memory is too small to put records in order: ${first}`, {
      hint: "give a larger --memory, or fewer --threads",
      cause: error,
    });
  const [, time] = new RegExp(`${NO_FORM}(-?(?:\\d+|infinity))`).exec(found.message) ?? [];
  if (time !== undefined) {
    const what = time.endsWith("infinity")
      ? `${time}, as a time,`
      : `a time of ${time} microseconds since 1970`;
    return new LabError("SCHEMA_MISMATCH", `${what} has no form in JSON`, {
      hint: "send only rows of the years 1 to 9999",
      details: { micros: time },
      cause: error,
    });
  }
  if (/no space left/i.test(found.message))
    return new LabError("STORE_FULL", `no room for what is sorted: ${first}`, {
      hint: "make room, or give a --scratch folder on a larger disk",
      cause: error,
    });
  return found;
}
