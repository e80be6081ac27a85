/** What a table settled of a span: the sums of its roll-ups, and what commits say that are not rolled up yet. */

import type { Snapshot, Table } from "../delta/table.ts";
import type { AuditVersion } from "./audit-version.ts";
import { countedCommits } from "./commits.ts";
import type { Span } from "./day.ts";
import { SKEW_MS } from "./findings.ts";
import { GAP_STAGE, hasSums, rolledUp, SETTLED_STAGE } from "./rolled.ts";
import { type SettledOf, settledSums } from "./settled.ts";
import { sqlText } from "./sql.ts";

export type SettledParts = {
  settled: readonly SettledOf[];
  /** See `TopicFacts`. */
  forgottenMs: number | undefined;
  /** The log was cleaned up beyond what `audit` knows: a later version of it knows more, if there is one. */
  isBehind: boolean;
};

/**
 * Up to version `upTo` of the table. Commits older than the span hold nothing of it, as nothing is sent before it happens; one from
 * the last minutes before it counts, too: clocks differ.
 */
export async function readSettled(
  audit: AuditVersion,
  table: Table,
  upTo: Pick<Snapshot, "version" | "metadata">,
  span: Span,
  signal: AbortSignal,
): Promise<SettledParts> {
  const { id } = upTo.metadata;
  const after = Math.min(upTo.version, rolledUp(audit.snapshot, id)?.version ?? -1);
  const sums = settledSums();
  const rolled = hasSums(audit.snapshot) ? await readSums(audit, id, span, signal) : NOTHING;
  for (const one of rolled.settled) sums.add(one);
  let next = upTo.version;
  let oldestMs = Number.NEGATIVE_INFINITY;
  for await (const one of countedCommits(table, { after, upTo: upTo.version }, signal)) {
    if (one.timestampMs < span.startMs - SKEW_MS) {
      next = after;
      break;
    }
    sums.addCommit(one.commitInfo, one.sign);
    if (one.version <= after) continue;
    oldestMs = one.timestampMs;
    next = one.version - 1;
  }
  const isBehind = next > after;
  const forgotten = [rolled.gapMs, isBehind ? oldestMs : undefined].filter((ms) => ms !== undefined);
  return {
    settled: sums.all,
    forgottenMs: forgotten.length > 0 ? Math.max(...forgotten) : undefined,
    isBehind,
  };
}

const NOTHING = { settled: [] as SettledOf[], gapMs: undefined };

async function readSums(
  audit: AuditVersion,
  tableId: string,
  { startMs, endMs }: Span,
  signal: AbortSignal,
): Promise<{ settled: SettledOf[]; gapMs: number | undefined }> {
  const of = `FROM ${audit.name} WHERE table_id = ${sqlText(tableId)} AND stage`;
  const days = `"day" BETWEEN '${isoDay(startMs)}' AND '${isoDay(endMs)}'`;
  const window = "epoch_ms(window_start::TIMESTAMPTZ)";
  const rows = await audit.rows(
    `SELECT topic, origin, epoch, ${window}, sum("count"), sum(letters), sum(checksum) % ${2 ** 52},
       max(last_sequence)
     ${of} = '${SETTLED_STAGE}' AND ${days} AND ${window} BETWEEN ${startMs} AND ${endMs - 1} GROUP BY ALL`,
    signal,
  );
  const [gap] = await audit.rows(`SELECT max(${window}) ${of} = '${GAP_STAGE}'`, signal);
  return {
    settled: rows.map(([topic, origin, epoch, windowMs, received, letters, checksum, last]) => ({
      ...{ topic: String(topic), origin: String(origin), epoch: Number(epoch), windowMs: Number(windowMs) },
      ...{ received: Number(received), letters: Number(letters), checksum: Number(checksum) },
      last: Number(last),
    })),
    gapMs: gap?.[0] == null ? undefined : Number(gap[0]),
  };
}

const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
