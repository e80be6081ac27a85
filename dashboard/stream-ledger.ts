/** The ledger of one stream: remembers what commits said, asks the table and its letters anew, and settles each partition. */

import type { LabStream } from "./control.ts";
import { type LedgerInput, type LedgerLine, type Marked, settle } from "./ledger.ts";
import type { Culprit, TableLedger } from "./ledger-watch.ts";
import { common, minus, NONE, type Ranges, rangesOf, sizeOf } from "./offset-ranges.ts";
import type { ProducedBook, ProducedPartition } from "./produced.ts";
import type { PlacedRange, PositionReader, TablePositions } from "./tables.ts";

export type StreamLedger = {
  /** Compares what `book` has read with what the tables hold now. */
  count(book: ProducedBook, signal: AbortSignal): Promise<Omit<TableLedger, "checkedAt">>;
};

type Note = TablePositions["commits"][number];

const KEPT_SUSPECTS = 100;
const SHOWN_MINUTES = 30;

export function openStreamLedger(
  stream: LabStream,
  positions: Pick<PositionReader, "read" | "routed">,
): StreamLedger {
  const { topic, table } = stream;
  let memory = forgetful();
  let bothBefore = new Map<number, Ranges>();

  return {
    async count(book, signal) {
      const ask = (name: string, kind: "rows" | "letters" | "states", after = Number.MAX_SAFE_INTEGER) =>
        positions.read(name, { kind, after, addsToo: after >= 0 }, signal);
      // In this order: letters and routed rows are committed before the positions of the table are.
      let main = await ask(table, "rows", memory.after);
      if (main !== null && memory.id !== null && memory.id !== main.id) {
        memory = forgetful();
        main = await ask(table, "rows", memory.after);
      }
      const routed = stream.isRouted ? await positions.routed(table, signal) : [];
      const others = await Promise.all(routed.map((name) => ask(name, "rows")));
      const letters = await ask(`${table}__dead_letters`, "letters");
      const states = await ask(`${table}__dead_letters_state`, "states");
      if (main !== null) remember(memory, topic, main);

      const rows = [main, ...others].flatMap((held) => held?.ranges ?? []);
      const parts = [...book.partitions()].sort(([a], [b]) => a - b);
      const nextBoth = new Map<number, Ranges>();
      const settled = parts.map(([partition, produced]) => {
        const isHere = (range: PlacedRange) => range.topic === topic && range.partition === partition;
        const own = rows.filter(isHere);
        const generation = own.reduce((most, range) => Math.max(most, range.generation), memory.generation);
        const input: LedgerInput = {
          ...{ topic, partition },
          produced: main?.isMerged
            ? since(produced, memory.told.get(partition) ?? next(main, topic, partition))
            : produced,
          settled: main === null ? null : settledOf(main, topic, partition),
          // Rows of a topic that was made anew since are of other records.
          rows: own.filter((range) => range.generation === generation).map(marked),
          letters: (letters?.ranges ?? []).filter(isHere).map(marked),
          replayed: rangesOf((states?.ranges ?? []).filter((r) => isHere(r) && r.mark === "replayed")),
          skipped: memory.skipped.get(partition) ?? [],
          restored: memory.restored.get(partition) ?? NONE,
          bothBefore: bothBefore.get(partition) ?? NONE,
        };
        const { line, minutes, both } = settle(input);
        nextBoth.set(partition, both);
        return { line, minutes: minutes.slice(-SHOWN_MINUTES).map((minute) => ({ partition, ...minute })) };
      });
      bothBefore = nextBoth;
      const lines = settled.map(({ line }) => line);
      return {
        ...{ topic, table, lines, version: main?.version ?? null },
        ...judge(lines),
        minutes: settled.flatMap(({ minutes }) => minutes),
        culprits: culpritsOf(memory.suspects, topic, lines),
        isMerged: main?.isMerged ?? false,
        nameless: [main, ...others].reduce((sum, held) => sum + (held?.nameless ?? 0n), 0n),
      };
    },
  };
}

const marked = ({ mark, first, last }: PlacedRange): Marked => ({ key: mark, first, last });

function judge(lines: readonly LedgerLine[]): Pick<TableLedger, "verdict" | "why"> {
  const isBroken = lines.some(({ lost, doubled, strange }) => lost > 0n || doubled > 0n || strange > 0n);
  if (isBroken) return { verdict: "broken", why: null };
  if (lines.length === 0) return { verdict: "unknown", why: "the topic is not read yet" };
  if (lines.some(({ isComplete }) => !isComplete))
    return { verdict: "unknown", why: "counting what was produced" };
  return { verdict: "whole", why: null };
}

/** What earlier commits said that the newest version does not show. */
type Memory = {
  id: string | null;
  after: number;
  generation: number;
  skipped: Map<number, { first: bigint; last: bigint; skipped: bigint }[]>;
  restored: Map<number, Ranges>;
  /** The first offset of each partition that a commit tells of: what came before may be in versions that the log has lost. */
  told: Map<number, bigint>;
  suspects: Note[];
};

const forgetful = (): Memory => ({
  ...{ id: null, after: -1, generation: 0 },
  ...{ skipped: new Map(), restored: new Map(), told: new Map(), suspects: [] },
});

function remember(memory: Memory, topic: string, { id, version, commits }: TablePositions): void {
  memory.id = id;
  memory.after = version;
  for (const note of commits) {
    for (const { partition, first, last, skipped, ...range } of note.settled) {
      if (range.topic !== topic) continue;
      if (note.generation > memory.generation) {
        memory.generation = note.generation;
        memory.told.clear();
        memory.skipped.clear();
        memory.restored.clear();
      }
      // Offsets that are settled again, after a rewind, are told by the newer commit.
      const before = (memory.skipped.get(partition) ?? []).filter(
        (known) => known.last < first || known.first > last,
      );
      const told = memory.told.get(partition);
      if (told === undefined || first < told) memory.told.set(partition, first);
      if (skipped > 0n) before.push({ first, last, skipped });
      memory.skipped.set(partition, before);
    }
    if (note.change === null) continue;
    const isRestore = /^RESTORE/i.test(note.operation);
    for (const partition of partitionsOf(note, topic)) {
      const of = (ranges: readonly PlacedRange[] | null) => here(ranges, topic, partition);
      const known = memory.restored.get(partition) ?? NONE;
      const taken = isRestore ? rangesOf([...known, ...of(note.change.removed)]) : known;
      memory.restored.set(partition, minus(taken, of(note.change.added)));
    }
    const isAppendOfOurs = note.settled.length > 0 && (note.change.removed?.length ?? 0) === 0;
    if (!isAppendOfOurs && !isRestore) memory.suspects = [...memory.suspects, note].slice(-KEPT_SUSPECTS);
  }
}

const here = (ranges: readonly PlacedRange[] | null, topic: string, partition: number): Ranges =>
  rangesOf((ranges ?? []).filter((range) => range.topic === topic && range.partition === partition));

function partitionsOf({ change }: Note, topic: string): Set<number> {
  const ranges = [...(change?.removed ?? []), ...(change?.added ?? [])];
  return new Set(ranges.flatMap((range) => (range.topic === topic ? [range.partition] : [])));
}

/** The position that the table's log has for a partition, in whichever form and for whichever app. */
function settledOf({ txns }: TablePositions, topic: string, partition: number): bigint | null {
  const ours = [...txns].filter(([appId]) => appId.endsWith(`/${topic}-${partition}`));
  const short = [...txns].filter(([appId]) => !appId.includes("/") && appId.endsWith(`-${partition}`));
  const found = (ours.length > 0 ? ours : short).map(([, version]) => version);
  return found.reduce<bigint | null>((most, n) => (most === null || n > most ? n : most), null);
}

const next = (held: TablePositions, topic: string, partition: number) =>
  (settledOf(held, topic, partition) ?? -1n) + 1n;

/** What was produced from an offset on. */
function since(produced: ProducedPartition, first: bigint): ProducedPartition {
  if (first <= produced.start) return produced;
  const from = (ranges: Ranges) => minus(ranges, [{ first: 0n, last: first - 1n }]);
  return {
    ...produced,
    start: first,
    offsets: from(produced.offsets),
    minutes: produced.minutes.map(({ minute, offsets }) => ({ minute, offsets: from(offsets) })),
  };
}

/** Commits, newest first, that took what is lost or brought what is doubled. */
function culpritsOf(suspects: readonly Note[], topic: string, lines: readonly LedgerLine[]): Culprit[] {
  const broken = lines.filter(({ lost, doubled }) => lost > 0n || doubled > 0n);
  if (broken.length === 0) return [];
  const count = (pick: (line: LedgerLine) => Ranges) =>
    broken.reduce((sum, line) => sum + sizeOf(pick(line)), 0n);
  return suspects
    .map(({ version, timestamp, operation, engine, change }) => ({
      ...{ version, timestamp, operation, engine },
      removed: count(({ partition, lostOffsets }) => {
        const took = minus(
          here(change?.removed ?? null, topic, partition),
          here(change?.added ?? null, topic, partition),
        );
        return common(took, lostOffsets);
      }),
      doubled: count(({ partition, doubledOffsets }) =>
        common(here(change?.added ?? null, topic, partition), doubledOffsets),
      ),
    }))
    .filter(({ removed, doubled }) => removed > 0n || doubled > 0n)
    .reverse();
}
