/** Engines that parse statements and compute constants: opening one takes longer than most statements do, so an idle one is kept. */

import { type Engine, openEngine } from "../engine/instance.ts";
import { engineSettings, type QueryLimits } from "./relations.ts";

export type Parsers = {
  /** Lets `work` use an engine that can read no file; nobody else uses it meanwhile. */
  use<T>(work: (engine: Engine) => Promise<T>): Promise<T>;
  close(): void;
};

export function openParsers(limits: QueryLimits): Parsers {
  const settings = { ...engineSettings(limits), threads: 1, tempDir: null, allowedPaths: [] };
  let idle: Engine | undefined;
  let isClosed = false;
  return {
    async use(work) {
      const engine = idle ?? (await openEngine(settings));
      idle = undefined;
      try {
        const result = await work(engine);
        if (!isClosed) idle ??= engine;
        return result;
      } finally {
        if (idle !== engine) engine.close();
      }
    },
    close() {
      isClosed = true;
      idle?.close();
      idle = undefined;
    },
  };
}
