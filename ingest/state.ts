/** What a stream knows of itself: the state of the machine, plain data. */

export type Limits = {
  /** A flush is due when its oldest record has waited this long, in ms. */
  flushLatencyMs: number;
  flushRows: number;
  /** Raw value bytes. */
  flushBytes: number;
  /** Held bytes that are encoded together. */
  chunkBytes: number;
  /** Pairs of an audited origin and a window that one commit counts, unless a single chunk has more. */
  auditPairs: number;
  /** Held bytes that may wait uncommitted before the source is paused. */
  budgetBytes: number;
  /** With `--once`: the next offset after the last one to read, per partition; null: no end. */
  ends: ReadonlyMap<number, bigint> | null;
};

/** Both are offsets of the next record: to read, and not yet settled in the log. */
export type Progress = { next: bigint; settled: bigint };

export type Chunk = {
  id: number;
  rows: number;
  /** Raw value bytes. */
  bytes: number;
  /** What its messages take while they wait: values, keys, headers, and a little for each. */
  heldBytes: number;
  openedMs: number;
  /** Per partition: one past its last offset in this chunk. */
  next: ReadonlyMap<number, bigint>;
  stage: "open" | "sealed" | "encoding" | "encoded";
  /** What an audit counts apart in it; none before it is encoded. */
  auditPairs: readonly string[];
  /** Some message in it is audited. */
  hasStamps: boolean;
};

export type Commit = { id: number; chunks: readonly number[]; settled: ReadonlyMap<number, bigint> };

export type State = {
  phase: "idle" | "assigning" | "running" | "draining" | "stopped";
  generation: number;
  assigned: readonly number[];
  /** Empty unless running or draining. */
  partitions: ReadonlyMap<number, Progress>;
  /** Oldest first; only the last may be open. */
  chunks: readonly Chunk[];
  /** The chunk that is being encoded. */
  encoding: number | null;
  commit: Commit | null;
  /** Every chunk up to this id is to be committed. */
  flushUpTo: number | null;
  isPaused: boolean;
  /** Stop was asked for: what cannot be settled now is left to the next start. */
  isStopping: boolean;
  /** Ids of chunks and commits; never used twice. */
  nextId: number;
  limits: Limits;
};

export function initialState(limits: Limits): State {
  return {
    phase: "idle",
    generation: -1,
    assigned: [],
    partitions: new Map(),
    chunks: [],
    encoding: null,
    commit: null,
    flushUpTo: null,
    isPaused: false,
    isStopping: false,
    nextId: 1,
    limits,
  };
}

/** Held bytes of messages that are buffered in any form. */
export function ownBytes(state: State): number {
  return state.chunks.reduce((sum, chunk) => sum + chunk.heldBytes, 0);
}

/** Held bytes of messages that are still in memory. */
export function unencodedBytes(state: State): number {
  return state.chunks.reduce((sum, chunk) => (chunk.stage === "encoded" ? sum : sum + chunk.heldBytes), 0);
}
