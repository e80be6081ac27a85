/** Transforms that are wrong whatever the messages are: refused before anything is read, also where nothing is left to read. */

import { asLabError, LabError } from "../core/errors.ts";
import type { StreamOptions } from "../ingest/options.ts";

/** Names that may be columns of the messages: the encoder, which sees them, decides about these. */
const PERHAPS_COLUMNS = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

/** TRANSFORM_REFUSED, naming the topic, for SQL that cannot be parsed or is not row-local. What columns it may name is not known yet. */
export async function checkTransforms(
  streams: readonly Pick<StreamOptions, "topic" | "transform">[],
  signal: AbortSignal,
): Promise<void> {
  if (streams.every(({ transform }) => transform === undefined)) return;
  // Loaded here: most streams have none, and DuckDB takes a while.
  const { openEngine } = await import("../engine/instance.ts");
  const { checkRowLocal } = await import("../engine/transform-check.ts");
  const engine = await openEngine({ memoryLimitBytes: 64 * 1024 ** 2, threads: 1, tempDir: null });
  try {
    for (const { topic, transform } of streams) {
      if (transform === undefined) continue;
      await checkRowLocal(engine, transform, PERHAPS_COLUMNS, signal).catch((error: unknown) => {
        const { code, message, hint } = asLabError(error);
        throw new LabError(code, `${topic}: ${message}`, {
          ...(hint === undefined ? {} : { hint }),
          cause: error,
        });
      });
    }
  } finally {
    engine.close();
  }
}
