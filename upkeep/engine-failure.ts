/** What the engine complains of while it reads and writes rows, in words of the table. */

import { LabError } from "../core/errors.ts";
import type { DataFiles } from "../engine/scan.ts";

/** The error as one with a way out, where it is known what it means; any other is given back. */
export async function explainFailure(
  error: unknown,
  { root, scanned }: { root: string; scanned: Iterable<DataFiles> },
): Promise<unknown> {
  if (!(error instanceof Error) || error instanceof LabError) return error;
  for (const data of scanned) {
    const explained = await data.explain(error);
    if (explained instanceof LabError) return explained;
  }
  const { message } = error;
  if (/no space left/i.test(message))
    return new LabError("STORE_FULL", `no room for files that are being made: ${message}`, {
      hint: "make room, or give a --scratch folder on a larger disk",
      cause: error,
    });
  if (/^Out of Memory Error/.test(message))
    // What follows are settings of the engine that nobody has at hand here.
    return new LabError("QUERY_LIMIT", `memory is too small: ${message.split("\n")[0]}`, {
      hint: "give a larger --memory, or fewer --threads",
      cause: error,
    });
  if (/^(IO|Invalid) Error/.test(message))
    return new LabError("CORRUPT_LOG", `a data file of ${root} is damaged: ${message}`, {
      hint: "lab verify finds all that are damaged",
      details: { table: root },
      cause: error,
    });
  return error;
}

/** SQL_ERROR where the engine could not compute what somebody wrote for the values of some row; any other error is given back. */
export function explainExpression(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof LabError) return error;
  if (!/^(Conversion|Out of Range|Invalid Input) Error/.test(error.message)) return error;
  return new LabError("SQL_ERROR", `it cannot be computed for every row: ${error.message}`, {
    hint: "use TRY_CAST, or leave such rows out by the condition",
    cause: error,
  });
}
