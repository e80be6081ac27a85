/** The user's word that an origin will send no more: a row of the audit table like those of producers. */

import { windowOf } from "./header.ts";

export function retirement(topic: string, origin: string, nowMs: number): object {
  const at = new Date(nowMs).toISOString();
  const start = new Date(windowOf(nowMs)).toISOString();
  return {
    ...{ day: start.slice(0, 10), topic, stage: "retired", origin, epoch: nowMs, host: "", sent_at: at },
    ...{ low_event_time: at, closed: true, window_start: start, count: 0 },
    ...{ first_sequence: 0, last_sequence: 0, checksum: 0, revision: 0 },
  };
}
