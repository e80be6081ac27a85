/** What became of letters, written down: states, and for those that are bad again a line with the next attempt. */

import { quoteText } from "../engine/instance.ts";
import type { Desk } from "./desk.ts";
import type { LetterTables, Opened } from "./tables.ts";

/** By number in table `chosen`. A record is in one of the lists at most. */
export type Outcomes = {
  /** Their rows are in this version of the table, or in one before it. */
  replayed: readonly { version: number; places: readonly number[] }[];
  dropped: readonly number[];
  bad: readonly { place: number; stage: string; code: string; message: string }[];
};

const LINES_AT_ONCE = 200;

/** Two commits, states first; without one of them nothing is wrong, only not told. */
export async function recordOutcomes(
  desk: Desk,
  tables: LetterTables,
  letters: Opened | null,
  outcomes: Outcomes,
  options: { nowMs: number; operation: string; signal: AbortSignal },
): Promise<void> {
  const { operation, signal } = options;
  const now = `make_timestamptz(${BigInt(Math.floor(options.nowMs)) * 1000n})`;
  await desk.run(
    "CREATE OR REPLACE TEMP TABLE outcomes (place INTEGER, state VARCHAR, version BIGINT, stage VARCHAR, code VARCHAR, message VARCHAR)",
    { signal },
  );
  for (const { version, places } of outcomes.replayed)
    await settle(desk, "replayed", version, places, signal);
  await settle(desk, "dropped", null, outcomes.dropped, signal);
  for (let start = 0; start < outcomes.bad.length; start += LINES_AT_ONCE) {
    const some = outcomes.bad.slice(start, start + LINES_AT_ONCE);
    const values = some.map(() => "(?, NULL, NULL, ?, ?, ?)").join(", ");
    const params = some.flatMap(({ place, stage, code, message }) => [place, stage, code, message]);
    await desk.run(`INSERT INTO outcomes VALUES ${values}`, { params, signal });
  }
  // Within the time in which the record's letter was the newest at its offset: that is how a state finds its record.
  await desk.run(
    `CREATE OR REPLACE TEMP VIEW new_states AS
     SELECT c.topic, c."partition", c."offset", o.state, o.version,
       greatest(c.first_at, CASE WHEN c.next_at <= ${now} THEN c.next_at - INTERVAL 1 MICROSECOND ELSE ${now} END) AS "at"
     FROM chosen AS c JOIN outcomes AS o ON o.place = c.place WHERE o.state IS NOT NULL;
     CREATE OR REPLACE TEMP VIEW new_lines AS
     SELECT l.topic, l."partition", l."offset", l."timestamp", l."key", l."value", l.headers, o.stage, o.code AS error_code,
       o.message AS error_message, CAST(c.attempt + 1 AS INTEGER) AS attempt, ${now} AS ingested_at
     FROM lines AS l JOIN chosen AS c ON l."lab file" = c.file AND l."lab row" = c."row"
       JOIN outcomes AS o ON o.place = c.place WHERE o.state IS NULL`,
    { signal },
  );
  if (outcomes.dropped.length > 0 || outcomes.replayed.some(({ places }) => places.length > 0))
    await desk.append(await tables.state(signal), "new_states", operation, signal);
  if (letters && outcomes.bad.length > 0) await desk.append(letters, "new_lines", operation, signal);
}

async function settle(
  desk: Desk,
  state: "replayed" | "dropped",
  version: number | null,
  places: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  await desk.numbers("settled", places, signal);
  const columns = `place, ${quoteText(state)}, ${version ?? "NULL"}, NULL, NULL, NULL`;
  await desk.run(`INSERT INTO outcomes SELECT ${columns} FROM settled`, { signal });
}
