/** A workbench that is kept for the next batch: to open one takes as long as to write a small batch on it. */

import type { Workbench } from "../../upkeep/workbench.ts";

export type KeptBench = {
  /** Opened when it is needed first: most batches need none. */
  get(): Promise<Workbench>;
  /** Something failed on it, or it is done with: the next one is opened anew. */
  close(): Promise<void>;
};

export function keepBench(open: () => Promise<Workbench>): KeptBench {
  let opened: Promise<Workbench> | undefined;
  return {
    get() {
      opened ??= open();
      return opened;
    },
    async close() {
      const last = opened;
      opened = undefined;
      // What could not be opened has told that to who wanted it.
      await (await last?.catch(() => undefined))?.close();
    },
  };
}
