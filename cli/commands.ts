/** The commands of `lab`, each loaded only when it is wanted. Order is the order of help. */

import type { Command } from "./command.ts";

export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import("./up.ts")).up,
  down: async () => (await import("./down.ts")).down,
  status: async () => (await import("./status.ts")).status,
  doctor: async () => (await import("./doctor.ts")).doctor,
  reset: async () => (await import("./reset.ts")).reset,
  ingest: async () => (await import("./ingest.ts")).ingest,
  dashboard: async () => (await import("./dashboard.ts")).dashboard,
};

/** All commands, loaded. */
export function loadAll(): Promise<Command[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}
