/** The equation of the ledger: produced = rows + letters + skipped + removed by restore + waiting + lost. Pure. */

import {
  common,
  doubledIn,
  minus,
  NONE,
  type OffsetRange,
  type Ranges,
  rangesOf,
  sizeOf,
  within,
} from "./offset-ranges.ts";
import type { ProducedPartition } from "./produced.ts";

/** Ranges of rows or letters; only those alike in `key` can be one another's double. */
export type Marked = OffsetRange & { key: string };

/** What is known of one partition of a topic and of the table that it fills. */
export type LedgerInput = {
  topic: string;
  partition: number;
  produced: ProducedPartition;
  /** Last offset that the table's log answers for. */
  settled: bigint | null;
  rows: readonly Marked[];
  letters: readonly Marked[];
  /** Offsets of letters that a replay made rows of: being both is right for these. */
  replayed: Ranges;
  /** Records that a transform left out, by the commits that say so. */
  skipped: readonly (OffsetRange & { skipped: bigint })[];
  /** Offsets whose rows a restore took on purpose and nobody brought back. */
  restored: Ranges;
  /** Offsets that were rows and letters at the last look as well: a replay writes the one before it marks the other. */
  bothBefore: Ranges;
};

/** Terms that add up to `produced`: each record is in one of them. */
export type Terms = {
  produced: bigint;
  /** Records that are rows. */
  distinct: bigint;
  /** Records that are letters, and no rows. */
  letters: bigint;
  skipped: bigint;
  removedByRestore: bigint;
  /** Produced and not settled yet. */
  waiting: bigint;
  lost: bigint;
  /** Rows and letters beyond one for each record: not in the sum. */
  doubled: bigint;
};

export type LedgerLine = Terms & {
  topic: string;
  partition: number;
  settledOffset: bigint | null;
  /** Where a transform makes several rows of a record, more than `distinct`. */
  rows: bigint;
  /** Rows that name an offset at which the topic has no record. */
  strange: bigint;
  /** Offsets below are no longer in the topic, and in no term. */
  countedFrom: bigint;
  /** Everything settled is read from the topic, too. */
  isComplete: boolean;
  lostOffsets: Ranges;
  doubledOffsets: Ranges;
};

export type LedgerMinute = Terms & { minute: number };

export type Settlement = {
  line: LedgerLine;
  minutes: LedgerMinute[];
  /** To be given as `bothBefore` the next time. */
  both: Ranges;
};

export function settle(input: LedgerInput): Settlement {
  const { produced, settled } = input;
  const { start, next } = produced;
  const checked = (ranges: readonly Marked[]) =>
    ranges.flatMap(({ first, last, key }) =>
      last < start ? [] : [{ key, first: first < start ? start : first, last }],
    );
  const [rowRanges, letterRanges] = [checked(input.rows), checked(input.letters)];
  const held = rangesOf(rowRanges);
  const lettered = rangesOf(letterRanges);
  const both = minus(common(held, lettered), input.replayed);
  const [extraRows, extraLetters] = [doublesOf(rowRanges), doublesOf(letterRanges)];
  const doubles = [...extraRows, ...extraLetters, { offsets: common(both, input.bothBefore), extra: null }];

  const classes = classify(input, held, lettered);
  const termsOf = (of: Ranges): Terms => {
    const [missing, doubled] = [
      common(of, classes.missing),
      doubles.map(({ offsets, extra }) => extraIn(of, offsets, extra)),
    ];
    return {
      produced: sizeOf(of),
      distinct: sizeOf(common(of, classes.rows)),
      letters: sizeOf(common(of, classes.letters)),
      waiting: sizeOf(common(of, classes.waiting)),
      removedByRestore: sizeOf(common(of, classes.restored)),
      // Which records a transform left out is not written down, only how many.
      skipped: classes.lost > 0n ? 0n : sizeOf(missing),
      lost: classes.lost > 0n ? sizeOf(missing) : 0n,
      doubled: doubled.reduce((sum, n) => sum + n, 0n),
    };
  };
  const line: LedgerLine = {
    topic: input.topic,
    partition: input.partition,
    ...termsOf(produced.offsets),
    skipped: classes.skipped,
    lost: classes.lost,
    doubled: doubles.reduce((sum, { offsets, extra }) => sum + (extra ?? sizeOf(offsets)), 0n),
    settledOffset: settled,
    rows: rowRanges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n),
    strange: sizeOf(minus(within(held, start, next), produced.offsets)),
    countedFrom: start,
    isComplete: settled === null || next > settled,
    lostOffsets: classes.lost > 0n ? classes.missing : NONE,
    doubledOffsets: rangesOf(doubles.flatMap(({ offsets }) => offsets)),
  };
  const minutes = produced.minutes.map(({ minute, offsets }) => ({ minute, ...termsOf(offsets) }));
  return { line, minutes, both };
}

/** Every produced record in one class; of those that are nowhere, how many a transform accounts for. */
function classify(input: LedgerInput, held: Ranges, lettered: Ranges) {
  const { produced, settled } = input;
  const rows = common(produced.offsets, held);
  const letters = minus(common(produced.offsets, lettered), rows);
  const nowhere = minus(minus(produced.offsets, rows), letters);
  const isSettled = settled === null ? NONE : [{ first: 0n, last: settled }];
  const unexplained = common(nowhere, isSettled);
  const restored = common(unexplained, input.restored);
  const missing = minus(unexplained, restored);
  const claimed = input.skipped.reduce(
    (sum, { last, skipped }) => (last < produced.start ? sum : sum + skipped),
    0n,
  );
  const gone = sizeOf(missing);
  const skipped = claimed < gone ? claimed : gone;
  return {
    rows,
    letters,
    waiting: minus(nowhere, isSettled),
    restored,
    missing,
    skipped,
    lost: gone - skipped,
  };
}

type Doubles = { offsets: Ranges; extra: bigint | null };

/** Doubles within each key: the same record twice in one of its roles. */
function doublesOf(ranges: readonly Marked[]): Doubles[] {
  const byKey = new Map<string, OffsetRange[]>();
  for (const { key, first, last } of ranges) {
    const own = byKey.get(key);
    if (own === undefined) byKey.set(key, [{ first, last }]);
    else own.push({ first, last });
  }
  return [...byKey.values()].map(doubledIn).filter(({ extra }) => extra > 0n);
}

/** Of a minute: how many of its offsets are doubled; all of them together: how many copies there are too many. */
function extraIn(of: Ranges, offsets: Ranges, extra: bigint | null): bigint {
  const here = sizeOf(common(of, offsets));
  return extra !== null && here === sizeOf(offsets) ? extra : here;
}
