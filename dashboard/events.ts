/** GET /api/events: one stream that carries everything live. The lab is looked at only while somebody watches, or something is broken on purpose. */

import type { Request, Response } from "express";
import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { toJson } from "../core/ops.ts";
import { sleep } from "../core/retry.ts";
import type { Alert } from "./alerts.ts";
import type { ChaosWatch } from "./chaos-watch.ts";
import type { LabControl, Topic } from "./control.ts";
import { type Flow, noMemory, observeFlow } from "./flow.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import type { Problem, TableReader, TableSummary } from "./tables.ts";
import type { Job } from "./work.ts";

export type TableList = { at: string; tables: TableSummary[]; problem: Problem | null };

export type EventStreams = {
  handle(request: Request, response: Response): void;
  count(): number;
  /** Tells every page of something now. */
  tell(event: string, data: unknown): void;
  /** Resolves once the lab was looked at, in the last second or now. */
  look(signal: AbortSignal): Promise<void>;
  /** Goes on looking until what is broken on purpose is over, also if nobody watches. */
  follow(): void;
};

const LOOK_EVERY_MS = 1_000;
const LOOK_DEADLINE_MS = 10_000;
const HEARTBEAT_MS = 5_000;
/** A reader this far behind is cut off: it comes back by itself and starts from a fresh snapshot. */
const MAX_PENDING_BYTES = 4 << 20;

/**
 * Sends `snapshot` {at, flow, tables, ledger, alerts, chaos, jobs} first, then `flow` and `ledger` at each look, `tables`, `alerts`, `chaos` and `jobs` when one changed,
 * and a `heartbeat` every 5 s. There is no backlog: who reconnects gets a new snapshot.
 */
export function eventStreams(options: {
  tables: TableReader;
  control: LabControl;
  alerts: () => Alert[];
  chaos: Pick<ChaosWatch, "look" | "runs">;
  jobs: () => readonly Job[];
  ledger: Pick<LedgerWatch, "ledgers" | "listen">;
  log: Log;
  now: () => number;
}): EventStreams {
  const { tables, control, alerts, chaos, jobs, ledger, log, now } = options;
  const clients = new Set<Response>();
  let looking: AbortController | null = null;
  let flow: Flow | null = null;
  let list: TableList | null = null;

  const send = (client: Response, event: string, data: unknown) => {
    if (client.writableLength > MAX_PENDING_BYTES) client.destroy();
    else client.write(`event: ${event}\ndata: ${toJson(data)}\n\n`);
  };
  const broadcast = (event: string, data: unknown) => {
    for (const client of clients) send(client, event, data);
  };
  const at = () => new Date(now()).toISOString();

  let memory = noMemory;
  let topics: Topic[] = [];
  const lookAtFlow = async (signal: AbortSignal): Promise<Flow> => {
    const [parts, answer] = await Promise.all([
      control.parts(signal),
      control.topics(signal).then(
        (topics) => ({ topics, problem: null }),
        (error: unknown) => ({ topics, problem: asLabError(error).toJSON() }),
      ),
    ]);
    signal.throwIfAborted();
    topics = answer.topics;
    const observed = observeFlow(memory, { atMs: now(), parts, ...answer });
    ({ memory, flow } = observed);
    if (chaos.look(observed.flow)) broadcast("chaos", chaos.runs());
    return observed.flow;
  };
  const watchFlow = (signal: AbortSignal) => {
    let toldAlerts = toJson(alerts());
    return repeat(signal, 0, async (deadline) => {
      broadcast("flow", await lookAtFlow(deadline));
      const text = toJson(alerts());
      if (text !== toldAlerts) broadcast("alerts", alerts());
      toldAlerts = text;
      if (!isWanted()) stop();
    });
  };
  const watchTables = (signal: AbortSignal) => {
    let told = "";
    // Looking takes a fifth of the time at most, however slow the store and however many the tables.
    return repeat(signal, 4, async (deadline) => {
      const found = await tables.tables(deadline).then(
        (tables) => ({ tables, problem: null }),
        (error: unknown) => ({ tables: list?.tables ?? [], problem: asLabError(error).toJSON() }),
      );
      signal.throwIfAborted();
      list = { at: at(), ...found };
      const text = toJson(found);
      if (text !== told) broadcast("tables", list);
      told = text;
    });
  };
  const repeat = async (
    signal: AbortSignal,
    restShare: number,
    look: (deadline: AbortSignal) => Promise<void>,
  ) => {
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await look(AbortSignal.any([signal, AbortSignal.timeout(LOOK_DEADLINE_MS)]));
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "looking at the lab failed; trying again");
      }
      const pauseMs = Math.max(LOOK_EVERY_MS, restShare * (performance.now() - startedAt));
      await sleep(pauseMs, signal).catch(() => undefined);
    }
  };

  const start = () => {
    const controller = new AbortController();
    const beat = setInterval(() => broadcast("heartbeat", { at: at() }), HEARTBEAT_MS);
    const unlisten = ledger.listen((ledgers) => broadcast("ledger", ledgers));
    controller.signal.addEventListener("abort", () => {
      clearInterval(beat);
      unlisten();
    });
    void watchFlow(controller.signal);
    void watchTables(controller.signal);
    return controller;
  };
  const stop = () => {
    looking?.abort();
    looking = null;
    forget();
  };
  const forget = () => {
    flow = null;
    list = null;
    memory = noMemory;
    topics = [];
  };
  const isWanted = () => clients.size > 0 || chaos.runs().some((run) => !run.isOver);

  return {
    count: () => clients.size,
    tell: broadcast,
    async look(signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(LOOK_DEADLINE_MS)]);
      if (looking !== null && flow !== null) return;
      await lookAtFlow(limit);
      // Known to those who asked; it is old when the next one watches.
      if (looking === null) forget();
    },
    follow() {
      looking ??= start();
    },
    handle(_, response) {
      response.set({ "content-type": "text/event-stream", "cache-control": "no-store" });
      response.flushHeaders();
      send(response, "snapshot", {
        at: at(),
        flow,
        tables: list,
        ledger: ledger.ledgers(),
        alerts: alerts(),
        chaos: chaos.runs(),
        jobs: jobs(),
      });
      clients.add(response);
      looking ??= start();
      response.on("close", () => {
        clients.delete(response);
        if (!isWanted()) stop();
      });
    },
  };
}
