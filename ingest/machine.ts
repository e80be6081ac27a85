/**
 * The brain of a stream: (state, event) -> (state, effects), with no clock, client or random in it.
 * SPEC.md says in words what each phase, event and invariant means, and which test holds it.
 */

import { type Chunk, ownBytes, type Progress, type State, unencodedBytes } from "./state.ts";

export type Event =
  /** The group gave this member partitions; everything of older generations is over. */
  | { type: "assigned"; generation: number; partitions: readonly number[] }
  /** The assignment is over: rebalance, crash of the client, or close. */
  | { type: "revoked"; generation: number }
  /** The log was read: where each assigned partition goes on (next offset to read). */
  | { type: "positions"; generation: number; next: ReadonlyMap<number, bigint> }
  | {
      type: "fetched";
      generation: number;
      partition: number;
      fetchedOffset: bigint;
      nextOffset: bigint;
      rows: number;
      /** Raw value bytes. */
      bytes: number;
      /** What the records take while they wait (`heldBytes` in chunk.ts). */
      heldBytes: number;
      /** How many audited pairs the open chunk has without it; absent: none. */
      openAuditPairs?: number;
      nowMs: number;
    }
  /** `auditPairs` names each pair of an origin and a window in the chunk; a commit counts them where some chunk of it `hasStamps`. */
  | { type: "encoded"; chunk: number; auditPairs?: readonly string[]; hasStamps?: boolean }
  | { type: "committed"; commit: number }
  /** The commit did not come about and never will: lost to another worker, table changed, or given up. */
  | { type: "rejected"; commit: number }
  | { type: "tick"; nowMs: number }
  /** Finish: settle what is buffered, then end. */
  | { type: "stop" };

export type Effect =
  /** Read the log for these partitions and answer with `positions`. */
  | { type: "readPositions"; generation: number; partitions: readonly number[] }
  /** Let the source flow from these offsets. */
  | { type: "start"; generation: number; next: ReadonlyMap<number, bigint> }
  | { type: "seek"; partition: number; nextOffset: bigint }
  /** Put the records of the event at hand into this chunk. */
  | { type: "append"; chunk: number }
  /** Turn the chunk, which grows no more, into files; answer with `encoded`. */
  | { type: "encode"; chunk: number }
  /** Upload, commit letters, commit rows and positions; answer with `committed` or `rejected`. */
  | { type: "commit"; commit: number; chunks: readonly number[]; settled: ReadonlyMap<number, bigint> }
  /** Forget all buffered records and files, and cancel what is under way for them. */
  | { type: "drop" }
  | { type: "pause" }
  | { type: "resume" }
  /** Everything is settled that will be: close the source and end. */
  | { type: "finish" };

export type Step = { state: State; effects: Effect[] };
type Of<T extends Event["type"]> = Extract<Event, { type: T }>;
type Handlers = { [T in Event["type"]]: (state: State, event: Of<T>) => Step };

function stay(state: State): Step {
  return { state, effects: [] };
}

/** Total: a new phase or event does not compile until each of its cells is filled. SPEC.md shows the same table, by the handlers' names. */
export const TRANSITIONS: Record<State["phase"], Handlers> = {
  idle: {
    assigned: assign,
    revoked: stay,
    positions: stay,
    fetched: stay,
    encoded: stay,
    committed: commitEnded,
    rejected: commitEnded,
    tick: stay,
    stop: finish,
  },
  assigning: {
    assigned: assign,
    revoked: revoke,
    positions: begin,
    fetched: stay,
    encoded: stay,
    committed: commitEnded,
    rejected: commitEnded,
    tick: stay,
    stop: finish,
  },
  running: {
    assigned: assign,
    revoked: revoke,
    positions: stay,
    fetched: accept,
    encoded: chunkEncoded,
    committed: committed,
    rejected: rejected,
    tick: tick,
    stop: drainToStop,
  },
  draining: {
    assigned: assignOrFinish,
    revoked: revokeOrFinish,
    positions: stay,
    fetched: stay,
    encoded: chunkEncoded,
    committed: committed,
    rejected: rejectedOrFinish,
    tick: stay,
    stop: noteStop,
  },
  stopped: {
    assigned: stay,
    revoked: stay,
    positions: stay,
    fetched: stay,
    encoded: stay,
    committed: stay,
    rejected: stay,
    tick: stay,
    stop: stay,
  },
};

/** What follows from one event. Never throws for any event in any state. */
export function step(state: State, event: Event): Step {
  const handler = TRANSITIONS[state.phase][event.type] as (state: State, event: Event) => Step;
  return handler(state, event);
}

function assign(state: State, event: Of<"assigned">): Step {
  // A reading of positions that is under way for the older assignment is work to be cancelled, too: it might end after the newer one.
  const isBusy = state.chunks.length > 0 || state.commit !== null || state.phase === "assigning";
  const effects: Effect[] = isBusy ? [{ type: "drop" }] : [];
  const next: State = {
    ...state,
    phase: "assigning",
    generation: event.generation,
    assigned: event.partitions,
    partitions: new Map(),
    chunks: [],
    encoding: null,
    flushUpTo: null,
    isPaused: false,
  };
  // A commit under way is let end first: the log read after it cannot be behind our own commit.
  if (!state.commit)
    effects.push({ type: "readPositions", generation: event.generation, partitions: event.partitions });
  return { state: next, effects };
}

function revoke(state: State, event: Of<"revoked">): Step {
  if (event.generation !== state.generation) return stay(state);
  const cleared: State = {
    ...state,
    phase: "idle",
    assigned: [],
    partitions: new Map(),
    chunks: [],
    encoding: null,
    flushUpTo: null,
    isPaused: false,
  };
  return { state: cleared, effects: [{ type: "drop" }] };
}

/** A commit of an earlier assignment ended, one way or the other. */
function commitEnded(state: State, event: Of<"committed"> | Of<"rejected">): Step {
  if (state.commit?.id !== event.commit) return stay(state);
  const next: State = { ...state, commit: null };
  if (state.phase !== "assigning") return stay(next);
  return {
    state: next,
    effects: [{ type: "readPositions", generation: state.generation, partitions: state.assigned }],
  };
}

function begin(state: State, event: Of<"positions">): Step {
  if (event.generation !== state.generation) return stay(state);
  const partitions = new Map<number, Progress>();
  for (const [partition, next] of event.next) partitions.set(partition, { next, settled: next });
  const running: State = { ...state, phase: "running", partitions };
  return andThen(
    { state: running, effects: [{ type: "start", generation: event.generation, next: event.next }] },
    drainIfCaughtUp,
  );
}

/** A batch counts only if it was fetched from exactly the offset that is due in this assignment. */
function accept(state: State, event: Of<"fetched">): Step {
  const progress = state.partitions.get(event.partition);
  if (event.generation !== state.generation || !progress) return stay(state);
  if (event.fetchedOffset !== progress.next || event.nextOffset < progress.next) {
    return { state, effects: [{ type: "seek", partition: event.partition, nextOffset: progress.next }] };
  }
  const partitions = new Map(state.partitions).set(event.partition, { ...progress, next: event.nextOffset });
  let next: State = { ...state, partitions };
  const effects: Effect[] = [];
  if (event.rows > 0) {
    if ((event.openAuditPairs ?? 0) >= state.limits.auditPairs) next = seal(flush(next));
    const open = openChunk(next);
    const chunk: Chunk = {
      ...(open ?? {
        id: state.nextId,
        rows: 0,
        bytes: 0,
        heldBytes: 0,
        openedMs: event.nowMs,
        next: new Map(),
        stage: "open",
        auditPairs: [],
        hasStamps: false,
      }),
    };
    chunk.rows += event.rows;
    chunk.bytes += event.bytes;
    chunk.heldBytes += event.heldBytes;
    chunk.next = new Map(chunk.next).set(event.partition, event.nextOffset);
    next = {
      ...next,
      chunks: [...next.chunks.filter((c) => c !== open), chunk],
      nextId: open ? state.nextId : state.nextId + 1,
    };
    effects.push({ type: "append", chunk: chunk.id });
  }
  return andThen({ state: next, effects }, flushIfFull, encodeNext, commitNext, balance, drainIfCaughtUp);
}

function tick(state: State, event: Of<"tick">): Step {
  const oldest = uncommitted(state)[0];
  if (oldest && oldest.openedMs > event.nowMs) return stay(countedFrom(state, event.nowMs));
  const isDue = oldest !== undefined && event.nowMs - oldest.openedMs >= state.limits.flushLatencyMs;
  return isDue ? andThen(stay(flush(state)), encodeNext, commitNext) : stay(state);
}

/** The clock was set back: what waits has waited since now, or it would wait for as long as the step was. */
function countedFrom(state: State, nowMs: number): State {
  const chunks = state.chunks.map((chunk) => ({ ...chunk, openedMs: Math.min(chunk.openedMs, nowMs) }));
  return { ...state, chunks };
}

function chunkEncoded(state: State, event: Of<"encoded">): Step {
  if (state.encoding !== event.chunk) return stay(state);
  const { auditPairs = [], hasStamps = false } = event;
  const chunks = state.chunks.map(
    (chunk): Chunk =>
      chunk.id === event.chunk ? { ...chunk, stage: "encoded", auditPairs, hasStamps } : chunk,
  );
  return andThen(
    stay({ ...state, chunks, encoding: null }),
    encodeNext,
    commitNext,
    balance,
    finishIfDrained,
  );
}

function committed(state: State, event: Of<"committed">): Step {
  const commit = state.commit;
  if (commit?.id !== event.commit) return stay(state);
  const partitions = new Map(state.partitions);
  for (const [partition, settled] of commit.settled) {
    const progress = partitions.get(partition);
    if (progress && settled > progress.settled) partitions.set(partition, { ...progress, settled });
  }
  const chunks = state.chunks.filter((chunk) => !commit.chunks.includes(chunk.id));
  return andThen(
    stay({ ...state, partitions, chunks, commit: null }),
    flushIfFull,
    encodeNext,
    commitNext,
    balance,
    finishIfDrained,
  );
}

/** The log moved under us: what is buffered may be somebody else's by now. Only the log can say. */
function rejected(state: State, event: Of<"rejected">): Step {
  if (state.commit?.id !== event.commit) return stay(state);
  const again = assign(
    { ...state, commit: null },
    { type: "assigned", generation: state.generation, partitions: state.assigned },
  );
  return { state: again.state, effects: [{ type: "pause" }, ...again.effects] };
}

function drain(state: State): Step {
  const last = uncommitted(state).at(-1);
  const draining: State = { ...seal(state), phase: "draining", flushUpTo: last?.id ?? null };
  return andThen(stay(draining), encodeNext, commitNext, finishIfDrained);
}

function drainToStop(state: State): Step {
  return drain({ ...state, isStopping: true });
}

function noteStop(state: State): Step {
  return stay({ ...state, isStopping: true });
}

/** While stopping, what is lost is left to the next start. */
function assignOrFinish(state: State, event: Of<"assigned">): Step {
  return state.isStopping ? finish(state) : assign(state, event);
}

function revokeOrFinish(state: State, event: Of<"revoked">): Step {
  return state.isStopping ? finish(state) : revoke(state, event);
}

function rejectedOrFinish(state: State, event: Of<"rejected">): Step {
  return state.isStopping ? finish(state) : rejected(state, event);
}

function finish(state: State): Step {
  const effects: Effect[] = state.chunks.length > 0 || state.commit ? [{ type: "drop" }] : [];
  return {
    state: { ...state, phase: "stopped", chunks: [], encoding: null },
    effects: [...effects, { type: "finish" }],
  };
}

// --- Rules that follow an event ------------------------------------------------------------------------

type Rule = (state: State) => Step;

function andThen(first: Step, ...rules: Rule[]): Step {
  let { state } = first;
  const effects = [...first.effects];
  for (const rule of rules) {
    const next = rule(state);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects };
}

const openChunk = (state: State): Chunk | undefined => {
  const last = state.chunks.at(-1);
  return last?.stage === "open" ? last : undefined;
};

/** Chunks that no commit carries yet, oldest first. */
function uncommitted(state: State): Chunk[] {
  const inCommit = state.commit?.chunks ?? [];
  return state.chunks.filter((chunk) => !inCommit.includes(chunk.id));
}

/**
 * Closes the open chunk and asks for everything up to it to be committed. Not while a flush or commit is under way: one that took in
 * what came later would never end behind a slow encoder, and cut the stream into ever smaller files.
 */
function flush(state: State): State {
  const last = uncommitted(state).at(-1);
  if (!last || state.flushUpTo !== null || state.commit) return state;
  return { ...seal(state), flushUpTo: last.id };
}

function seal(state: State): State {
  const open = openChunk(state);
  if (!open) return state;
  return {
    ...state,
    chunks: state.chunks.map((chunk): Chunk => (chunk === open ? { ...chunk, stage: "sealed" } : chunk)),
  };
}

function flushIfFull(state: State): Step {
  const waiting = uncommitted(state);
  const rows = waiting.reduce((sum, chunk) => sum + chunk.rows, 0);
  const bytes = waiting.reduce((sum, chunk) => sum + chunk.bytes, 0);
  if (rows >= state.limits.flushRows || bytes >= state.limits.flushBytes) return stay(flush(state));
  const open = openChunk(state);
  return stay(open && open.heldBytes >= state.limits.chunkBytes ? seal(state) : state);
}

/** One chunk at a time, in order: each is written with the schema that the one before it left. */
function encodeNext(state: State): Step {
  if (state.encoding !== null) return stay(state);
  const chunk = state.chunks.find((candidate) => candidate.stage === "sealed");
  if (!chunk) return stay(state);
  const chunks = state.chunks.map(
    (other): Chunk => (other === chunk ? { ...other, stage: "encoding" } : other),
  );
  return { state: { ...state, chunks, encoding: chunk.id }, effects: [{ type: "encode", chunk: chunk.id }] };
}

function commitNext(state: State): Step {
  const { flushUpTo } = state;
  if (state.commit || flushUpTo === null) return stay(state);
  const waiting = uncommitted(state).filter((chunk) => chunk.id <= flushUpTo);
  if (waiting.some((chunk) => chunk.stage !== "encoded")) return stay(state);
  const together = withinAudit(waiting, state.limits.auditPairs);
  // What is left is still to be committed, by the next one.
  const cleared: State = { ...state, flushUpTo: together.length < waiting.length ? flushUpTo : null };
  if (together.length === 0) return stay(cleared);
  const settled = new Map<number, bigint>();
  for (const chunk of together) for (const [partition, next] of chunk.next) settled.set(partition, next);
  const commit = { id: state.nextId, chunks: together.map((chunk) => chunk.id), settled };
  return {
    state: { ...cleared, commit, nextId: state.nextId + 1 },
    effects: [{ type: "commit", commit: commit.id, chunks: commit.chunks, settled }],
  };
}

/** The oldest chunks whose pairs one commit may count: as many as fit, and one at least. */
function withinAudit(waiting: readonly Chunk[], most: number): readonly Chunk[] {
  const pairs = new Set<string>();
  let isAudited = false;
  const split = waiting.findIndex((chunk, at) => {
    for (const pair of chunk.auditPairs) pairs.add(pair);
    isAudited ||= chunk.hasStamps;
    return at > 0 && isAudited && pairs.size > most;
  });
  return split < 0 ? waiting : waiting.slice(0, split);
}

/** Pauses the source at the byte budget, or when encoding falls behind, and lets it go on when a chunk has room again. */
function balance(state: State): Step {
  const { budgetBytes, chunkBytes } = state.limits;
  const own = ownBytes(state);
  const raw = unencodedBytes(state);
  if (!state.isPaused && (own >= budgetBytes || raw >= 2 * chunkBytes)) {
    // Nothing would flush a buffer that is full but younger than the latency: it must shrink by itself.
    const flushed = own >= budgetBytes ? andThen(stay(flush(state)), encodeNext, commitNext) : stay(state);
    return { state: { ...flushed.state, isPaused: true }, effects: [...flushed.effects, { type: "pause" }] };
  }
  if (state.isPaused && own <= budgetBytes - chunkBytes && raw <= chunkBytes) {
    return { state: { ...state, isPaused: false }, effects: [{ type: "resume" }] };
  }
  return stay(state);
}

/** `--once`: every assigned partition has reached the end that was seen at the start. */
function drainIfCaughtUp(state: State): Step {
  const { ends } = state.limits;
  if (!ends || state.phase !== "running") return stay(state);
  for (const [partition, { next }] of state.partitions)
    if (next < (ends.get(partition) ?? 0n)) return stay(state);
  return drain(state);
}

function finishIfDrained(state: State): Step {
  return state.phase === "draining" && state.chunks.length === 0 && !state.commit
    ? finish(state)
    : stay(state);
}
