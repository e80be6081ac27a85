/** One partition in memory: records, transactions, markers, retention and compaction, as a read-committed reader meets them. */

import type { RawRecord } from "./ports.ts";

export type Transaction = { state: "open" | "committed" | "aborted" };
/** A record, or the marker that ends a transaction (null). */
type Entry = { offset: bigint; record: RawRecord | null; transaction: Transaction | null };
export type NewRecord = Omit<RawRecord, "offset">;
export type LogRead = { records: RawRecord[]; nextOffset: bigint };

export type PartitionLog = {
  readonly low: bigint;
  /** One past the last offset. */
  readonly end: bigint;
  /** One past the last offset that a read-committed reader can see. */
  readonly stableEnd: bigint;
  /** The offset of the first of them. */
  append(records: readonly NewRecord[], transaction?: Transaction): bigint;
  mark(transaction: Transaction): void;
  /** Retention: offsets below are gone. */
  trim(before: bigint): void;
  /** Compaction: these offsets hold nothing any more. */
  compact(offsets: readonly bigint[]): void;
  /** The next range from an offset on; null where the offset is not in the log, `nextOffset` = the offset where nothing is new. */
  read(from: bigint, most: number): LogRead | null;
};

export function createPartitionLog(): PartitionLog {
  let entries: Entry[] = [];
  let low = 0n;
  let end = 0n;

  const push = (record: RawRecord | null, transaction: Transaction | null) => {
    entries.push({ offset: end, record, transaction });
    end += 1n;
  };
  const stableEnd = () => entries.find(({ transaction }) => transaction?.state === "open")?.offset ?? end;

  return {
    get low() {
      return low;
    },
    get end() {
      return end;
    },
    get stableEnd() {
      return stableEnd();
    },
    append(records, transaction) {
      const base = end;
      for (const record of records) push({ ...record, offset: end }, transaction ?? null);
      return base;
    },
    mark: (transaction) => push(null, transaction),
    trim(before) {
      low = before > end ? end : before > low ? before : low;
      entries = entries.filter(({ offset }) => offset >= low);
    },
    compact(offsets) {
      entries = entries.filter(({ offset }) => !offsets.includes(offset));
    },
    read(from, most) {
      if (from < low || from > end) return null;
      const limit = stableEnd();
      const first = entries.findIndex(({ offset }) => offset >= from);
      const range =
        first < 0 ? [] : entries.slice(first, first + most).filter(({ offset }) => offset < limit);
      const records = range
        .filter(({ record, transaction }) => record !== null && transaction?.state !== "aborted")
        .map(({ record }) => record!);
      return { records, nextOffset: (range.at(-1)?.offset ?? from - 1n) + 1n };
    },
  };
}
