/** A DuckDB that is kept for the next who needs one. */

import type { Engine, Instance } from "./instance.ts";

export type KeptInstance = {
  /** See `Instance.session`. One that was released before is handed on as it is: opening one takes as long as a small statement. */
  session(): Promise<Engine>;
  /** Something failed: released engines are closed, so that the next one is opened, and with it the instance is tried. */
  doubt(): void;
  /** Engines that are still open stay so. */
  close(): void;
};

/** Released engines that wait for their next use. */
const MOST_IDLE = 8;

/** Opened when it is first wanted, and anew where an error has left it unusable. */
export function keepInstance(open: () => Promise<Instance>): KeptInstance {
  let kept: Promise<Instance> | undefined;
  let idle: Engine[] = [];
  const closeIdle = () => {
    for (const engine of idle) engine.close();
    idle = [];
  };
  const drop = (instance: Promise<Instance>) => {
    if (kept !== instance) return;
    kept = undefined;
    closeIdle();
    instance.then(
      ({ close }) => close(),
      () => {},
    );
  };
  const sessionOf = async (instance: Promise<Instance>) => {
    try {
      return lent(await (await instance).session(), instance);
    } catch (error) {
      drop(instance);
      throw error;
    }
  };
  /** The engine until it is closed or released; what comes after that, somebody else must not feel. */
  const lent = (engine: Engine, instance: Promise<Instance>): Engine => {
    let isOpen = true;
    const end = (isReusable: boolean) => {
      if (!isOpen) return;
      isOpen = false;
      if (isReusable && kept === instance && idle.length < MOST_IDLE) idle.push(engine);
      else engine.close();
    };
    return { ...engine, close: () => end(false), release: () => end(true) };
  };
  return {
    async session() {
      const known = kept;
      if (known !== undefined) {
        const waiting = idle.pop();
        if (waiting !== undefined) return lent(waiting, known);
        const engine = await sessionOf(known).catch(() => undefined);
        if (engine !== undefined) return engine;
      }
      kept ??= open();
      return sessionOf(kept);
    },
    doubt: closeIdle,
    close() {
      if (kept !== undefined) drop(kept);
    },
  };
}
