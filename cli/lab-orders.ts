/** What `lab up` can be told to break, each for a while: it keeps the processes, so it alone can keep one down. */

import { z } from "zod";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Orders } from "../core/ops.ts";
import type { CutProxy } from "../services/cut-proxy.ts";
import type { Supervisor } from "../services/supervisor.ts";
import { parse } from "./process-orders.ts";

export type LabOrders = {
  orders: Orders;
  /** Why an order would be refused now; null where it would not. */
  refusals(): Record<"hold" | "cut" | "worker" | "reset", string | null>;
  /** Heals what is broken still. */
  heal(): void;
};

const STARTING = "the lab still starts";
const LOCAL_STORE = "the store is a local folder: there is no connection to cut";

const seconds = z.number().int().min(1).max(600);
const Hold = z.strictObject({ part: z.string(), seconds });
const Cut = z.strictObject({ seconds });
const Worker = z.strictObject({ like: z.string(), seconds });

/** What orders work on, once the lab has started. */
export type BreakableLab = {
  /** Null where the store is no S3 server that is reached through it. */
  s3: CutProxy | null;
  /** Why the broker cannot be stopped, nor its topics deleted: it is not ours. */
  brokerRefusal: string | null;
  /** Starts another ingester with the streams of this one; resolves with its name. */
  startWorker(like: string): Promise<string>;
  /** Deletes topics and tables while producers and ingesters are down; resolves with what it did, in words. */
  reset(signal: AbortSignal): Promise<string[]>;
};

/** `place` gives null while the lab starts: until then all is refused. */
export function labOrders(options: {
  token: string;
  supervisor: Supervisor;
  place: () => BreakableLab | null;
  log: Log;
}): LabOrders {
  const { supervisor, log } = options;
  const active = new Map<string, () => void>();

  /** Runs `end` after a while, or when all is healed. */
  function forAWhile(name: string, ms: number, end: () => void): void {
    active.get(name)?.();
    const timer = setTimeout(() => finish(), ms);
    const finish = () => {
      clearTimeout(timer);
      if (active.get(name) === finish) active.delete(name);
      end();
    };
    active.set(name, finish);
  }
  const refusals = () => {
    const place = options.place();
    if (place === null) return { hold: STARTING, cut: STARTING, worker: STARTING, reset: STARTING };
    const { s3, brokerRefusal } = place;
    return { hold: brokerRefusal, cut: s3 === null ? LOCAL_STORE : null, worker: null, reset: brokerRefusal };
  };
  const demand = (reason: string | null) => {
    if (reason !== null) throw new LabError("REQUEST_INVALID", reason);
  };

  async function perform(name: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    log.info({ name, body }, "told to");
    const place = options.place();
    if (place === null) throw new LabError("REQUEST_INVALID", STARTING);
    const { s3 } = place;
    switch (name) {
      case "hold": {
        demand(refusals().hold);
        const { part, seconds } = parse(Hold, body);
        const before = supervisor.parts().find((one) => one.name === part)?.pid ?? null;
        forAWhile(`hold ${part}`, seconds * 1000, await supervisor.hold(part));
        return { pid: before };
      }
      case "cut": {
        demand(refusals().cut);
        s3?.cut();
        forAWhile("cut", parse(Cut, body).seconds * 1000, () => s3?.mend());
        return {};
      }
      case "worker": {
        const { like, seconds } = parse(Worker, body);
        const worker = await place.startWorker(like);
        const end = () =>
          void supervisor.remove(worker).catch((error: unknown) => log.warn({ err: error }, "did not end"));
        forAWhile(`worker ${worker}`, seconds * 1000, end);
        return { worker, pid: supervisor.parts().find((one) => one.name === worker)?.pid ?? null };
      }
      case "reset":
        demand(refusals().reset);
        heal();
        return { did: await place.reset(signal) };
      case "heal":
        heal();
        return {};
      default:
        throw new LabError("REQUEST_INVALID", `the lab cannot ${name}`);
    }
  }
  function heal(): void {
    for (const finish of [...active.values()]) finish();
  }
  return { orders: { token: options.token, perform }, refusals, heal };
}
