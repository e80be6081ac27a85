/** The commands of `lab`, each loaded only when it is wanted. Order is the order of help. */

import type { Command } from "./command.ts";

export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import("./up.ts")).up,
  down: async () => (await import("./down.ts")).down,
  status: async () => (await import("./status.ts")).status,
  doctor: async () => (await import("./doctor.ts")).doctor,
  reset: async () => (await import("./reset.ts")).reset,
  produce: async () => (await import("./produce.ts")).produce,
  ingest: async () => (await import("./ingest.ts")).ingest,
  merge: async () => (await import("./merge.ts")).merge,
  query: async () => (await import("./query.ts")).query,
  tables: async () => (await import("./tables.ts")).tables,
  history: async () => (await import("./history.ts")).history,
  show: async () => (await import("./show.ts")).show,
  diff: async () => (await import("./diff.ts")).diff,
  optimize: async () => (await import("./optimize.ts")).optimize,
  vacuum: async () => (await import("./vacuum.ts")).vacuum,
  checkpoint: async () => (await import("./checkpoint.ts")).checkpoint,
  cleanup: async () => (await import("./cleanup.ts")).cleanup,
  restore: async () => (await import("./restore.ts")).restore,
  verify: async () => (await import("./verify.ts")).verify,
  delete: async () => (await import("./change-rows.ts")).deleteCommand,
  update: async () => (await import("./change-rows.ts")).update,
  overwrite: async () => (await import("./change-rows.ts")).overwrite,
  replay: async () => (await import("./replay.ts")).replay,
  dlq: async () => (await import("./dlq.ts")).dlq,
  audit: async () => (await import("./audit.ts")).audit,
  batch: async () => (await import("./batch.ts")).batch,
  bench: async () => (await import("./bench.ts")).bench,
  dashboard: async () => (await import("./dashboard.ts")).dashboard,
  completion: async () => (await import("./completion.ts")).completion,
};

/** All commands, loaded. */
export function loadAll(): Promise<Command[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}
