/**
 * The order of a replay, cut into windows that are sorted one at a time.
 *
 * A partition's watermark is the latest time of its records so far. Records go by watermark, then partition, then their place in it: so each
 * partition keeps its order although times in it may go back, and no record is sent while another partition has an earlier one.
 * A window holds all records with a watermark before `until`. They are among the rows whose own time is before it; of these, rows behind a record
 * that has a later time, in a file that is not looked into yet, belong to a later window. Records before a partition's place need not be known:
 * were one of them later than its next record, that record would have gone with them.
 */

import type { Engine } from "../engine/instance.ts";
import { LAST_INDEX, type Progress } from "./place.ts";

/** `until` in microseconds; null is the end of time. */
export type Window = { until: bigint | null; files: readonly number[] };

/** Times of Kafka are milliseconds from 1970 on; what has none counts as the first. */
const NO_TIME = "0";
/** A window is not worth reading its files for less than this part of their rows. */
const LEAST_PART = 4;

/**
 * Makes `positions(part, gen, off, idx, ready)`, a line for each partition in `entries`: what was read of it last, and `ready`, before which its
 * watermark will not fall. Entries that are behind go.
 */
export async function beginWindows(engine: Engine, after: Progress, signal: AbortSignal): Promise<void> {
  await engine.run(
    `CREATE TEMP TABLE positions AS
     SELECT DISTINCT part, -1 AS gen, -1::BIGINT AS off, -1 AS idx, ${NO_TIME}::BIGINT AS ready FROM entries`,
    { signal },
  );
  for (const [partition, { generation, offset, index }] of after) {
    await engine.run(
      `UPDATE positions SET gen = ${generation}, off = ${offset}, idx = ${index} WHERE part = ${partition}`,
      { signal },
    );
  }
  await engine.run(
    `UPDATE entries SET tlo = CASE WHEN untimed THEN ${NO_TIME} ELSE coalesce(tlo, ${NO_TIME}) END, thi = coalesce(thi, ${NO_TIME});
     DELETE FROM entries AS e USING positions AS p WHERE e.part = p.part AND (e.gen, e.hi, ${LAST_INDEX}) <= (p.gen, p.off, p.idx)`,
    { signal },
  );
}

/** The next window of about `rows` records, or null where nothing is left. It may be larger where its files hold far more, unless it `isCapped`. */
export async function nextWindow(
  engine: Engine,
  { rows, isCapped }: { rows: number; isCapped: boolean },
  signal: AbortSignal,
): Promise<Window | null> {
  const [left] = await engine.rows("SELECT count(*) AS n FROM entries", { signal });
  if (Number(left!.n) === 0) return null;
  // How many records are before a time, as if each entry's were spread evenly over its time: a sweep over where entries begin and end.
  const [found] = await engine.rows(
    `WITH spans AS (
       SELECT greatest(e.tlo, p.ready) AS a, greatest(e.thi + 1, p.ready + 1) AS b, e.n,
         e.n * least(1, (greatest(e.thi + 1, p.ready + 1) - greatest(e.tlo, p.ready)) / (e.thi + 1 - e.tlo)) AS rest
       FROM entries AS e JOIN positions AS p USING (part)),
     edges AS (SELECT a AS t, rest / (b - a) AS density, n FROM spans UNION ALL SELECT b, -rest / (b - a), 0 FROM spans),
     steps AS (SELECT t, sum(density) AS density, sum(n) AS n FROM edges GROUP BY t),
     sweep AS (
       SELECT t, lead(t) OVER w - t AS span, greatest(sum(density) OVER w, 0) AS density, sum(n) OVER w AS opened
       FROM steps WINDOW w AS (ORDER BY t)),
     filled AS (
       SELECT *, coalesce(sum(density * span) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before,
         ${isCapped ? rows : `greatest(${rows}, opened / ${LEAST_PART})`} AS wanted
       FROM sweep WHERE span IS NOT NULL)
     SELECT (t + greatest(1, least(span, ceil((wanted - before) / greatest(density, 1e-300)))))::BIGINT AS until
     FROM filled WHERE before + density * span >= wanted ORDER BY t LIMIT 1`,
    { signal },
  );
  const until = found === undefined ? null : (found.until as bigint);
  const files = await engine.rows(
    `SELECT DISTINCT e.file FROM entries AS e JOIN positions AS p USING (part) WHERE ${isOpen(until)} ORDER BY e.file`,
    { signal },
  );
  return { until, files: files.map(({ file }) => Number(file)) };
}

/**
 * Makes `chosen(file, "row", idx, n)`, the window's rows in their order, of `candidates("lab file", "lab row", part, gen, off, idx, us)`.
 * Rows of one message are never parted, as they have one watermark. A place that several rows claim is there once. Returns how many there are.
 */
export async function chooseRows(engine: Engine, { until }: Window, signal: AbortSignal): Promise<number> {
  const end = until === null ? "NULL" : String(until);
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE seen AS
     WITH bounds AS (
       SELECT p.*, min({gen: e.gen, off: e.lo}) AS ceiling FROM positions AS p
       LEFT JOIN entries AS e ON e.part = p.part AND NOT (${isOpen(until)}) GROUP BY ALL),
     rows AS (
       SELECT c."lab file" AS file, c."lab row" AS "row", c.part, c.gen, c.off, c.idx, c.us
       FROM candidates AS c JOIN bounds AS b ON c.part = b.part
       WHERE (${until === null ? "true" : `b.ready < ${end}`}) AND (c.gen, c.off, c.idx) > (b.gen, b.off, b.idx)
         AND (b.ceiling IS NULL OR {gen: c.gen, off: c.off} < b.ceiling))
     SELECT file, "row", part, gen, off, idx,
       greatest(${NO_TIME}, max(us) OVER (PARTITION BY part ORDER BY gen, off)) AS wm
     FROM rows`,
    { signal },
  );
  const inWindow = until === null ? "true" : `wm < ${end}`;
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE chosen AS
     SELECT file, "row", idx, row_number() OVER placed AS n
     FROM (SELECT * FROM seen WHERE ${inWindow}) WINDOW placed AS (ORDER BY wm, part, gen, off, idx, file, "row")
     QUALIFY lag({part: part, gen: gen, off: off, idx: idx}) OVER placed IS DISTINCT FROM {part: part, gen: gen, off: off, idx: idx}`,
    { signal },
  );
  const [count] = await engine.rows("SELECT count(*) AS n FROM chosen", { signal });
  // Here, before any of it is sent: the statement that reads the rows must be the last one until it has ended.
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE moved AS
     SELECT part, max({gen: gen, off: off}) FILTER (WHERE ${inWindow}) AS last,
       min(wm) FILTER (WHERE NOT (${inWindow})) AS ready FROM seen GROUP BY part;
     DROP TABLE seen`,
    { signal },
  );
  return Number(count!.n);
}

/** Takes the window for read: its partitions move on, entries that are behind go. */
export async function endWindow(engine: Engine, { until }: Window, signal: AbortSignal): Promise<void> {
  if (until === null) {
    await engine.run("DELETE FROM entries", { signal });
    return;
  }
  await engine.run(
    `UPDATE positions AS p SET gen = m.last.gen, off = m.last.off, idx = ${LAST_INDEX} FROM moved AS m WHERE p.part = m.part AND m.last IS NOT NULL;
     UPDATE positions SET ready = greatest(ready, ${until});
     UPDATE positions AS p SET ready = greatest(p.ready, m.ready) FROM moved AS m WHERE p.part = m.part AND m.ready IS NOT NULL;
     DELETE FROM entries AS e USING positions AS p WHERE e.part = p.part AND (e.gen, e.hi) <= (p.gen, p.off)`,
    { signal },
  );
}

/** Whether entry `e` of partition `p` may hold rows of the window. */
function isOpen(until: bigint | null): string {
  return until === null ? "true" : `(e.tlo < ${until} AND p.ready < ${until})`;
}
