/** What merges come to, for Prometheus. */

import { Counter, type Registry } from "prom-client";
import type { Merged } from "./work.ts";

type Labels = { topic: string; table: string };

/** Registers the counters once, and gives each stream its own view of them. */
export function createChangeMetrics(registry: Registry): (labels: Labels) => { merged(told: Merged): void } {
  const registers = [registry];
  const changes = new Counter({
    name: "lab_changes_total",
    help: "Committed changes by what they came to: rows inserted, updated, deleted, changes ignored as older, and folded into later ones.",
    labelNames: ["topic", "table", "result"],
    registers,
  });
  const uncertain = new Counter({
    name: "lab_changes_order_uncertain_total",
    help: "Times that two changes of a key were put in an order that nothing proves.",
    labelNames: ["topic", "table"],
    registers,
  });
  const skipped = new Counter({
    name: "lab_changes_skipped_total",
    help: "Messages of a change stream that are not of rows, by kind.",
    labelNames: ["topic", "table", "kind"],
    registers,
  });
  const swept = new Counter({
    name: "lab_changes_swept_total",
    help: "Rows that were deleted because a snapshot that came later did not have them; they are deleted ones in lab_changes_total, too.",
    labelNames: ["topic", "table"],
    registers,
  });
  return (labels) => ({
    merged({ inserted, updated, deleted, ignored, folded, swept: rows, uncertain: orders, skipped: kinds }) {
      const results = { inserted, updated, deleted, ignored, folded };
      for (const [result, count] of Object.entries(results)) changes.inc({ ...labels, result }, count);
      uncertain.inc(labels, orders);
      swept.inc(labels, rows);
      for (const [kind, count] of Object.entries(kinds)) skipped.inc({ ...labels, kind }, count);
    },
  });
}
