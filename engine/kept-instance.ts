/** A DuckDB that is kept for the next who needs one. */

import type { Engine, Instance } from "./instance.ts";

export type KeptInstance = {
  /** See `Instance.session`. */
  session(): Promise<Engine>;
  /** Engines that are still open stay so. */
  close(): void;
};

/** Opened when it is first wanted, and anew where an error has left it unusable. */
export function keepInstance(open: () => Promise<Instance>): KeptInstance {
  let kept: Promise<Instance> | undefined;
  const drop = (instance: Promise<Instance>) => {
    if (kept !== instance) return;
    kept = undefined;
    instance.then(
      ({ close }) => close(),
      () => {},
    );
  };
  const sessionOf = async (instance: Promise<Instance>) => {
    try {
      return await (await instance).session();
    } catch (error) {
      drop(instance);
      throw error;
    }
  };
  return {
    async session() {
      const known = kept;
      if (known !== undefined) {
        const engine = await sessionOf(known).catch(() => undefined);
        if (engine !== undefined) return engine;
      }
      kept ??= open();
      return sessionOf(kept);
    },
    close() {
      if (kept !== undefined) drop(kept);
    },
  };
}
