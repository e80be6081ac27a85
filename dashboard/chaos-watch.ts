/** Causes faults one at a time and follows each until the stream is well again and the ledger has been counted. */

import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type ChaosControl, FAULTS, type FaultName, type Target } from "./chaos.ts";
import { type ChaosRun, firstSight, follow, type Seen, streamOf } from "./chaos-run.ts";
import type { LabStream } from "./control.ts";
import type { Flow } from "./flow.ts";
import type { LedgerWatch, TableLedger } from "./ledger-watch.ts";

export type ChaosWatch = {
  /** Starts a fault on the stream that fills this table. REQUEST_INVALID where one is on, or where it cannot be. */
  start(name: FaultName, table: string, signal: AbortSignal): Promise<ChaosRun>;
  heal(signal: AbortSignal): Promise<void>;
  /** Why each cannot be caused on this table; null where chaos is off. */
  refusals(table: string, signal: AbortSignal): Promise<Record<FaultName, string | null> | null>;
  /** Newest first. */
  runs(): readonly ChaosRun[];
  /** What was seen now; returns whether something is new. */
  look(flow: Flow): boolean;
};

const KEPT_RUNS = 20;
const FORGOTTEN_AFTER_MS = 180_000;

export function watchChaos(options: {
  control: ChaosControl | null;
  streams: readonly LabStream[];
  ledger: Pick<LedgerWatch, "ledgers">;
  log: Log;
  now: () => number;
}): ChaosWatch {
  const { control, streams, ledger, log, now } = options;
  let runs: ChaosRun[] = [];
  let seen: Seen | null = null;
  let flow: Flow | null = null;
  let isStarting = false;
  const iso = () => new Date(now()).toISOString();
  const ledgerOf = ({ topic, table }: Target): TableLedger | null =>
    ledger.ledgers().find((one) => one.topic === topic && one.table === table) ?? null;
  const need = (): ChaosControl => {
    if (control === null)
      throw new LabError("REQUEST_INVALID", "chaos is off here", { hint: "start the lab with LAB_CHAOS=1" });
    return control;
  };
  const targetOf = (table: string): Target => {
    const stream = streams.find((one) => one.table === table);
    if (stream === undefined)
      throw new LabError("REQUEST_INVALID", `no stream fills the table ${table}`, {
        hint: "choose another table",
      });
    const { topic } = stream;
    const target = { topic, table, ingester: null };
    return { ...target, ingester: streamOf(flow, target)?.ingesters[0]?.name ?? null };
  };

  return {
    async start(name, table, signal) {
      const chaos = need();
      const fault = FAULTS.find((one) => one.name === name)!;
      const current = runs.find((run) => !run.isOver);
      if (current !== undefined || isStarting)
        throw new LabError("REQUEST_INVALID", `${current?.fault.title ?? "another fault"} is not over yet`, {
          hint: "wait until it is, or heal it",
        });
      const target = targetOf(table);
      const before = firstSight(flow, target);
      isStarting = true;
      try {
        const startedAt = iso();
        const { did } = await chaos.cause(name, target, signal);
        log.warn({ name, table }, "broken on purpose");
        const run: ChaosRun = {
          ...{ id: (runs[0]?.id ?? 0) + 1, fault, target, startedAt },
          healsAt: fault.seconds === null ? null : new Date(now() + fault.seconds * 1000).toISOString(),
          lines: did.map((text) => ({ at: iso(), text })),
          ...{ isOver: false, verdict: null },
        };
        seen = before;
        runs = [run, ...runs].slice(0, KEPT_RUNS);
        return run;
      } finally {
        isStarting = false;
      }
    },
    async heal(signal) {
      await need().heal(signal);
      const healedAt = iso();
      runs = runs.map((run) =>
        run.isOver || run.healsAt === null
          ? run
          : { ...run, healsAt: healedAt, lines: [...run.lines, { at: healedAt, text: "healed by hand" }] },
      );
    },
    async refusals(table, signal) {
      if (control === null) return null;
      return control.refusals(targetOf(table), signal);
    },
    runs: () => runs,
    look(next) {
      flow = next;
      const [run, ...older] = runs;
      if (run === undefined || run.isOver || seen === null) return false;
      if (streamOf(next, run.target) === null && next.problem === null) return false;
      const followed = follow(run, seen, next, ledgerOf(run.target));
      seen = followed.seen;
      // What never shows and never ends must not stand in the way for ever.
      const isForgotten = now() - Date.parse(run.startedAt) > FORGOTTEN_AFTER_MS;
      const isNew = followed.run.lines.length > run.lines.length || followed.run.isOver || isForgotten;
      runs = [{ ...followed.run, isOver: followed.run.isOver || isForgotten }, ...older];
      return isNew;
    },
  };
}
