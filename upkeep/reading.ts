/** What reading of a table's rows needs. */

import type { FileCache } from "../engine/file-cache.ts";
import type { EngineSettings } from "../engine/instance.ts";

export type Reading = Pick<EngineSettings, "memoryLimitBytes" | "threads" | "tempDir"> & {
  /** For tables that are not in a local folder; opened when first needed, closed by whoever gave it. */
  cache: () => Promise<FileCache>;
};
