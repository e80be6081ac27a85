/** Engines of queries: opening a DuckDB takes longer than most statements do, so those in which a query leaves no trace are kept. */

import { randomUUID } from "node:crypto";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Engine, type EngineSettings, openEngine, openInstance } from "../engine/instance.ts";
import { keepInstance } from "../engine/kept-instance.ts";

export type QueryLimits = Pick<EngineSettings, "memoryLimitBytes" | "threads" | "tempDir">;

const GIB = 1024 ** 3;
const MOST_THREADS = 4;

/** What one query may use where nothing else is said. More threads than cores only take turns, and a query is done later. */
export function usualLimits(): QueryLimits {
  const threads = Math.min(MOST_THREADS, availableParallelism());
  return { memoryLimitBytes: 2 * GIB, threads, tempDir: tmpdir() };
}

/** What a query does with its engine. */
export type EngineUse =
  /** Parses and computes constants: it can read no file, whatever it is asked. */
  | { kind: "parse" }
  /** Reads any file, and changes nothing but what is the engine's own. All that do so share the limits. */
  | { kind: "read" }
  /** Has a DuckDB to itself, where `paths` are given one that reads those and nothing else. */
  | { kind: "apart"; paths?: readonly string[] };

export type Engines = {
  /** An engine that nobody else uses; the caller closes it. */
  open(use: EngineUse): Promise<Engine>;
  /** Something failed: what is kept may be no good any more, and is tried before it is handed on. */
  doubt(): void;
  /** Engines that are still open stay so. */
  close(): void;
};

/** Opens none yet. */
export function openEngines(limits: QueryLimits): Engines {
  const parsing = keepInstance(() =>
    openInstance({ ...settingsOf(limits), threads: 1, tempDir: null, allowedPaths: [] }),
  );
  const reading = keepInstance(() =>
    openInstance({ ...settingsOf(limits), keepsFiles: false, keepsFooters: true }),
  );
  return {
    async open(use) {
      if (use.kind === "parse") return parsing.session();
      if (use.kind === "read") return reading.session();
      const { paths } = use;
      return openEngine({ ...settingsOf(limits), ...(paths ? { allowedPaths: paths } : {}) });
    },
    doubt() {
      parsing.doubt();
      reading.doubt();
    },
    close() {
      parsing.close();
      reading.close();
    },
  };
}

/** Each DuckDB spills into a folder of its own, which it makes when needed and removes. */
function settingsOf(limits: QueryLimits): EngineSettings {
  const tempDir = limits.tempDir === null ? null : join(limits.tempDir, `lab-query-${randomUUID()}`);
  return { ...limits, tempDir, preserveOrder: true, errorsAsJson: true };
}
