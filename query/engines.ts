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
  /** Reads any file, and changes nothing but what is the engine's own. All that do so share the limits, and the footers of files that were read. */
  | { kind: "read" }
  /** The same in a DuckDB that goes with it, and keeps nothing of files. */
  | { kind: "read once" }
  /** Has a DuckDB to itself, where `paths` are given one that reads those and nothing else. */
  | { kind: "apart"; paths?: readonly string[] };

export type Engines = {
  /** An engine that nobody else uses; the caller closes it. */
  open(use: EngineUse): Promise<Engine>;
  /**
   * To be told which files an engine of the kind "read" is about to read, so that no more footers are kept than memory should go to. False for more
   * than that alone: they are to be read once.
   */
  mayRead(files: readonly string[]): boolean;
  /** Something failed: what is kept may be no good any more, and is tried before it is handed on. */
  doubt(): void;
  /** Engines that are still open stay so. */
  close(): void;
};

/** A footer of few columns takes some 10 KB. */
const MOST_FOOTERS = 4_096;

/** Opens none yet. */
export function openEngines(limits: QueryLimits, { mostFooters = MOST_FOOTERS } = {}): Engines {
  const parsing = keepInstance(() =>
    openInstance({ ...settingsOf(limits), threads: 1, tempDir: null, allowedPaths: [] }),
  );
  const reading = keepInstance(() =>
    openInstance({ ...settingsOf(limits), keepsFiles: false, keepsFooters: true }),
  );
  const known = new Set<string>();
  return {
    async open(use) {
      if (use.kind === "parse") return parsing.session();
      if (use.kind === "read") return reading.session();
      if (use.kind === "read once") return openEngine({ ...settingsOf(limits), keepsFiles: false });
      const { paths } = use;
      return openEngine({ ...settingsOf(limits), ...(paths ? { allowedPaths: paths } : {}) });
    },
    mayRead(files) {
      if (files.length > mostFooters) return false;
      for (const file of files) known.add(file);
      if (known.size <= mostFooters) return true;
      // DuckDB forgets none by itself, as long as there is memory. The next one begins with these.
      reading.close();
      known.clear();
      for (const file of files) known.add(file);
      return true;
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
