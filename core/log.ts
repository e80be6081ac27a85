/** One JSON line an event, on stderr or into a given stream; stdout is for data. */

import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from "pino";

export type Log = Logger;

/** `part` names the process in each line; `level` is one of pino's names. */
export function createLog(part: string, options: { level?: string; to?: DestinationStream } = {}): Log {
  return pino(
    { level: options.level ?? "info", base: { part, pid: process.pid }, timestamp: stdTimeFunctions.isoTime },
    options.to ?? destination({ dest: 2, sync: true }),
  );
}

/** A log that says nothing, for tests and for commands whose output is data. */
export const silentLog: Log = pino({ level: "silent" });
