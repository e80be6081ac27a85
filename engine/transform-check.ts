/** Whether a transform is row-local, in words for those who wrote it. */

import { LabError } from "../core/errors.ts";
import type { Engine } from "./instance.ts";
import { NotRowLocal, type RowLocal, requireRowLocal } from "./row-local.ts";

/** TRANSFORM_REFUSED with the reason where `sql` is more than `requireRowLocal` lets a query over `messages` be. */
export async function checkRowLocal(
  engine: Engine,
  sql: string,
  columns: readonly string[],
  signal: AbortSignal,
): Promise<RowLocal> {
  try {
    return await requireRowLocal(engine, sql, { table: "messages", columns }, signal);
  } catch (error) {
    throw error instanceof NotRowLocal ? refused(error.message) : error;
  }
}

export function refused(reason: string): LabError {
  return new LabError("TRANSFORM_REFUSED", `the transform is refused: ${reason}`, {
    hint: "a transform is one SELECT over `messages` that looks at one message at a time and keeps `_kafka`",
  });
}
