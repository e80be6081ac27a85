/**
 * For each key of a table where its row is and which change made it: columns of numbers and a hash table over them, about 90 bytes a key. A key
 * is known by 128 bits of hashes, as two keys with the same ones are less likely than a fault of the memory they are in.
 */

import type { Order } from "../change.ts";

/** Hashes of a key, 32 bits each. */
export type KeyHash = readonly [number, number, number, number];

/** Rows as columns of whole numbers, as `ROW_COLUMNS` has them. */
export type KeyRows = {
  rows: number;
  columns: readonly BigInt64Array[];
  /** Is added to the files' numbers. */
  firstFile: number;
  /** By the number in column `source`. */
  sources: readonly string[];
};

/** What the columns of `KeyRows` are; a place is the partition and, 32 bits up, the generation. Flags: see `FLAGS`. */
export const ROW_COLUMNS = [
  "file",
  "row",
  "hash1",
  "hash2",
  "hi",
  "lo",
  "sub",
  "time",
  "offset",
  "place",
  "flags",
  "source",
] as const;

/** That a row says which change made it; that this has a position, and a time; that it is of a snapshot, and that it is a deleted one. */
export const FLAGS = { hasOrder: 1, hasPosition: 2, hasTime: 4, isSnapshot: 8, isDeleted: 16 } as const;

/** What is stored of a key. `file` is a number that the caller gave, `row` the row's position in that file. */
export type Entry = {
  id: number;
  file: number;
  row: number;
  order: Order | null;
  isDeleted: boolean;
  missing: readonly string[];
};

export type KeyTable = {
  /** Rows, live or not. */
  readonly size: number;
  /** Of memory. */
  readonly bytes: number;
  /** An entry of a key, and whether there are others: all of live rows. Undefined where there is none, or their rows are gone. */
  find(hash: KeyHash): (Entry & { isDoubled: boolean }) | undefined;
  /** A row of a live file: it takes the place of a row of the same key that is gone, and stands beside those that are live. */
  put(hash: KeyHash, row: Omit<Entry, "id">): void;
  /** The same for many rows, of which none has missing columns. */
  putAll(rows: KeyRows): void;
  /** Columns of which nothing is known, of a row that was put. */
  setMissing(hash: KeyHash, row: Pick<Entry, "file" | "row">, columns: readonly string[]): void;
  /** Its row is gone. */
  drop(id: number): void;
  /** Rows of these files stand in others from now on. */
  move(moves: ReadonlyMap<number, { file: number; rowOf: (row: number) => number }>): void;
  /** These rows are gone, by their files: one walk through all. */
  dropRows(rows: ReadonlyMap<number, ReadonlySet<number>>): void;
  /** All rows of a file are gone. */
  dropFile(file: number): void;
  addFile(file: number): void;
  /** Entries whose rows are live. */
  entries(): IterableIterator<Entry>;
};

const FIRST_ROOM = 1 << 12;
/** The columns of a row, and its two slots. */
const ROW_BYTES = 4 * 4 + 4 + 4 + 5 * 8 + 4 + 2 * 4 + 1 + 2 * 4;

/** What a table of so many rows takes once it has grown to them: room is doubled. */
export function bytesOfKeys(rows: number): number {
  let room = FIRST_ROOM;
  while (room < rows) room *= 2;
  return room * ROW_BYTES;
}
const GONE = -1;
const { hasOrder, hasPosition, hasTime, isSnapshot, isDeleted } = FLAGS;
const NOTHING: readonly string[] = [];

export function createKeyTable(): KeyTable {
  let room = FIRST_ROOM;
  let size = 0;
  let hashes = new Uint32Array(4 * room);
  let files = new Int32Array(room);
  let rows = new Uint32Array(room);
  /** hi, lo, sub, time, offset. */
  let numbers = new BigInt64Array(5 * room);
  let numberWords = new Uint32Array(numbers.buffer);
  let sources = new Uint32Array(room);
  /** Partition, generation. */
  let places = new Int32Array(2 * room);
  let flags = new Uint8Array(room);
  /** Twice as many as entries: 0 for free, else an entry and 1. */
  let slots = new Uint32Array(2 * room);
  const live = new Set<number>();
  const missing = new Map<number, readonly string[]>();
  let sourceNames: string[] = [];
  let sourceNumbers = new Map<string, number>();

  function grow(): void {
    room *= 2;
    hashes = copied(hashes, new Uint32Array(4 * room));
    files = copied(files, new Int32Array(room));
    rows = copied(rows, new Uint32Array(room));
    numbers = copied(numbers, new BigInt64Array(5 * room));
    numberWords = new Uint32Array(numbers.buffer);
    sources = copied(sources, new Uint32Array(room));
    places = copied(places, new Int32Array(2 * room));
    flags = copied(flags, new Uint8Array(room));
    slots = new Uint32Array(2 * room);
    for (let id = 0; id < size; id++) slots[freeSlot(hashes[4 * id]!)] = id + 1;
  }

  function freeSlot(hash: number): number {
    const mask = slots.length - 1;
    let slot = hash & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    return slot;
  }

  /** The first slot from `slot` on of a row of a key, live or not; -1 where there is none. */
  function slotOf([a, b, c, d]: KeyHash, slot: number): number {
    const mask = slots.length - 1;
    for (let next = slot & mask; slots[next] !== 0; next = (next + 1) & mask) {
      const at = 4 * (slots[next]! - 1);
      if (hashes[at] === a && hashes[at + 1] === b && hashes[at + 2] === c && hashes[at + 3] === d)
        return next;
    }
    return -1;
  }

  const isLive = (id: number) => files[id] !== GONE && live.has(files[id]!);

  /** Some sources have another name with each transaction: those of rows that are no more go. */
  function forgetSources(): void {
    const old = sourceNames;
    sourceNames = [];
    sourceNumbers = new Map();
    for (let id = 0; id < size; id++)
      if ((flags[id]! & hasPosition) !== 0) sources[id] = sourceNumber(old[sources[id]!]!);
  }

  function sourceNumber(name: string): number {
    let number = sourceNumbers.get(name);
    if (number === undefined) {
      number = sourceNames.push(name) - 1;
      sourceNumbers.set(name, number);
    }
    return number;
  }

  function orderOf(id: number): Order | null {
    const flag = flags[id]!;
    if ((flag & hasOrder) === 0) return null;
    const [at, place] = [5 * id, 2 * id];
    return {
      position:
        (flag & hasPosition) === 0
          ? null
          : {
              source: sourceNames[sources[id]!]!,
              hi: numbers[at]!,
              lo: numbers[at + 1]!,
              sub: numbers[at + 2]!,
              timeMicros: (flag & hasTime) === 0 ? null : numbers[at + 3]!,
              isSnapshot: (flag & isSnapshot) !== 0,
            },
      place: { partition: places[place]!, offset: numbers[at + 4]!, generation: places[place + 1]! },
    };
  }

  /** The entry for a row of this key: of one that is gone, or a new one. */
  function entryFor(hash: KeyHash): number {
    const [a, b, c, d] = hash;
    for (let slot = slotOf(hash, a); slot >= 0; slot = slotOf(hash, slot + 1))
      if (!isLive(slots[slot]! - 1)) return slots[slot]! - 1;
    if (size === room) grow();
    const id = size++;
    const at = 4 * id;
    hashes[at] = a;
    hashes[at + 1] = b;
    hashes[at + 2] = c;
    hashes[at + 3] = d;
    slots[freeSlot(a)] = id + 1;
    files[id] = GONE;
    return id;
  }

  function write(id: number, row: Omit<Entry, "id">): void {
    if (sourceNames.length > 2 * size + FIRST_ROOM) forgetSources();
    const { order } = row;
    const position = order?.position ?? null;
    const at = 5 * id;
    files[id] = row.file;
    rows[id] = row.row;
    if (position !== null) {
      numbers[at] = position.hi;
      numbers[at + 1] = position.lo;
      numbers[at + 2] = position.sub;
      numbers[at + 3] = position.timeMicros ?? 0n;
      sources[id] = sourceNumber(position.source);
    }
    if (order !== null) {
      numbers[at + 4] = order.place.offset;
      places[2 * id] = order.place.partition;
      places[2 * id + 1] = order.place.generation;
    }
    flags[id] =
      (order === null ? 0 : hasOrder) |
      (position === null ? 0 : hasPosition) |
      (position === null || position.timeMicros === null ? 0 : hasTime) |
      (position?.isSnapshot ? isSnapshot : 0) |
      (row.isDeleted ? isDeleted : 0);
    if (row.missing.length > 0) missing.set(id, row.missing);
    else missing.delete(id);
  }

  function entryOf(id: number): Entry {
    const flag = flags[id]!;
    return {
      id,
      file: files[id]!,
      row: rows[id]!,
      order: orderOf(id),
      isDeleted: (flag & isDeleted) !== 0,
      missing: missing.get(id) ?? NOTHING,
    };
  }

  return {
    get size() {
      return size;
    },
    get bytes() {
      return room * ROW_BYTES;
    },
    find(hash) {
      let found = -1;
      for (let slot = slotOf(hash, hash[0]); slot >= 0; slot = slotOf(hash, slot + 1)) {
        const id = slots[slot]! - 1;
        if (!isLive(id)) continue;
        if (found >= 0) return { ...entryOf(found), isDoubled: true };
        found = id;
      }
      return found < 0 ? undefined : { ...entryOf(found), isDoubled: false };
    },
    put(hash, row) {
      write(entryFor(hash), row);
    },
    putAll({ rows: count, columns, firstFile, sources: names }) {
      const [file, row, hash1, hash2, hi, lo, sub, time, offset, place, flag, source] = columns.map(words);
      const known = names.map(sourceNumber);
      for (let i = 0; i < count; i++) {
        const [low, high] = [2 * i, 2 * i + 1];
        const id = entryFor([hash1![low]!, hash1![high]!, hash2![low]!, hash2![high]!]);
        files[id] = firstFile + file![low]!;
        rows[id] = row![low]!;
        const at = 10 * id;
        for (const [n, column] of [hi!, lo!, sub!, time!, offset!].entries()) {
          numberWords[at + 2 * n] = column[low]!;
          numberWords[at + 2 * n + 1] = column[high]!;
        }
        places[2 * id] = place![low]!;
        places[2 * id + 1] = place![high]!;
        flags[id] = flag![low]!;
        sources[id] = (flag![low]! & hasPosition) === 0 ? 0 : known[source![low]!]!;
        if (missing.size > 0) missing.delete(id);
      }
    },
    setMissing(hash, { file, row }, names) {
      for (let slot = slotOf(hash, hash[0]); slot >= 0; slot = slotOf(hash, slot + 1)) {
        const id = slots[slot]! - 1;
        if (files[id] === file && rows[id] === row) missing.set(id, names);
      }
    },
    drop(id) {
      files[id] = GONE;
    },
    move(moves) {
      for (let id = 0; id < size; id++) {
        const move = moves.get(files[id]!);
        if (move === undefined || !isLive(id)) continue;
        files[id] = move.file;
        rows[id] = move.rowOf(rows[id]!);
      }
    },
    dropRows(gone) {
      for (let id = 0; id < size; id++) if (gone.get(files[id]!)?.has(rows[id]!)) files[id] = GONE;
    },
    dropFile: (file) => live.delete(file),
    addFile: (file) => live.add(file),
    *entries() {
      for (let id = 0; id < size; id++) if (isLive(id)) yield entryOf(id);
    },
  };
}

function copied<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** The halves of 64-bit numbers, the low one first. */
export function words(column: BigInt64Array): Uint32Array {
  return new Uint32Array(column.buffer, column.byteOffset, 2 * column.length);
}
