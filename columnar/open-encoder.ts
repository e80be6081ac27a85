/** The encoder for a process: columns where they do, DuckDB for all else. */

import type { Encoder } from "../engine/encoder.ts";
import { createColumnEncoder } from "./column-encoder.ts";
import { loadZstd } from "./parquet-zstd.ts";

export type EncoderOptions = {
  /** A folder of its own: it may touch nothing else, and files of failed encodes stay in it. */
  stagingDir: string;
  /** Of DuckDB, which is opened for what needs it only: a transform, a route, a constraint, messages that are no JSON. */
  memoryLimitBytes: number;
  threads: number;
};

/** As DuckDB's encoder at that level; 1 costs a third less than 3 and gives files of the same size here. */
const ZSTD_LEVEL = 1;

/** One batch is encoded at a time; further calls wait. On a platform without Zstandard for JavaScript, DuckDB does it all. */
export async function openEncoder(options: EncoderOptions): Promise<Encoder> {
  // Loaded when it is needed, too: it takes longer to load than all the rest.
  const openDuckDb = async () => (await import("../engine/duckdb-encoder.ts")).createEncoder(options);
  const compress = loadZstd(ZSTD_LEVEL);
  if (compress === undefined) return openDuckDb();
  return createColumnEncoder({ stagingDir: options.stagingDir, openInner: openDuckDb, compress });
}
