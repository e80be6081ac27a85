/** From one look at the flow after another to what a fault did: what is told was seen. Pure. */

import type { Fault, FaultName, Target } from "./chaos.ts";
import { processOf } from "./control.ts";
import type { Flow, FlowIngester, FlowStream } from "./flow.ts";
import type { TableLedger } from "./ledger-watch.ts";

export type ChaosLine = { at: string; text: string };

export type ChaosRun = {
  id: number;
  fault: Fault;
  target: Target;
  startedAt: string;
  /** When it heals by itself; null where it does not last. */
  healsAt: string | null;
  lines: ChaosLine[];
  /** Over once the stream runs, has caught up and the ledger was counted after that. */
  isOver: boolean;
  /** The ledger's word on it; null before. */
  verdict: TableLedger["verdict"] | null;
};

/** What was seen last, to tell what is new. */
export type Seen = {
  ingesters: ReadonlyMap<string, Pick<FlowIngester, "name" | "pid" | "startedAt" | "status" | "state">>;
  owners: ReadonlyMap<number, string | null>;
  version: number | null;
  letters: number;
  problem: string | null;
  peakLag: bigint;
  /** Whether anything of the fault showed yet: without that it cannot be over. */
  hasShown: boolean;
  /** When the stream was well again; ms. */
  wellSince: number | null;
};

/** A fault that shows nothing in this time is over, too: a kill that waits for a batch of a quiet topic has longer. */
const SHOWS_WITHIN_MS = 30_000;
const CAUGHT_UP_SECONDS = 4;

/** The line by which a fault shows; what comes anyway, as versions do, proves nothing. */
const SHOWS: Readonly<Record<FaultName, RegExp>> = {
  "kill-before-upload": / is back as pid /,
  "kill-after-upload": / is back as pid /,
  "kill-after-commit": / is back as pid /,
  freeze: / does not answer, pid | moved from /,
  "stop-broker": /^the broker does not answer| is paused/,
  "cut-s3": / is paused/,
  poison: / letters$/,
  "second-worker": / joins as pid /,
  burst: /^version \d/,
  "change-schema": /^version \d/,
  reset: / is back as pid | joins as pid /,
};

export const streamOf = (flow: Flow | null, { topic, table }: Target): FlowStream | null =>
  flow?.streams.find((stream) => stream.topic === topic && stream.table === table) ?? null;

export function firstSight(flow: Flow | null, target: Target): Seen {
  const stream = streamOf(flow, target);
  return {
    ingesters: new Map(
      (stream?.ingesters ?? []).map(({ name, pid, startedAt, status, state }) => [
        name,
        { name, pid, startedAt, status, state },
      ]),
    ),
    owners: new Map((stream?.partitions ?? []).map(({ partition, owner }) => [partition, owner])),
    version: versionOf(stream),
    letters: lettersOf(stream),
    problem: flow?.problem?.code ?? null,
    peakLag: 0n,
    hasShown: false,
    wellSince: null,
  };
}

/** What this look adds to a run that is not over. */
export function follow(
  run: ChaosRun,
  seen: Seen,
  flow: Flow,
  ledger: TableLedger | null,
): { run: ChaosRun; seen: Seen } {
  const stream = streamOf(flow, run.target);
  const texts: string[] = [];
  const next = firstSight(flow, run.target);
  texts.push(...brokerTexts(seen, flow));
  for (const ingester of stream?.ingesters ?? []) texts.push(...ingesterTexts(seen, ingester, stream!));
  for (const name of seen.ingesters.keys()) if (!next.ingesters.has(name)) texts.push(`${name} is gone`);
  texts.push(...moveTexts(seen, stream));
  if (next.letters > seen.letters) texts.push(`${next.letters - seen.letters} letters`);
  if (next.version !== null && seen.version !== null && next.version > seen.version)
    texts.push(versionText(stream!, next.version));
  const lag = stream?.lag == null ? 0n : BigInt(stream.lag);
  const peakLag = lag > seen.peakLag ? lag : seen.peakLag;

  const atMs = Date.parse(flow.at);
  const hasShown = seen.hasShown || texts.some((text) => SHOWS[run.fault.name].test(text));
  const isPast = run.healsAt === null || atMs > Date.parse(run.healsAt);
  const isWaitedFor = hasShown || atMs - Date.parse(run.startedAt) > SHOWS_WITHIN_MS;
  const isWell = isPast && isWaitedFor && isRunning(stream) && flow.problem === null;
  const wellSince = isWell ? (seen.wellSince ?? atMs) : null;
  if (isWell && seen.wellSince === null) texts.push(`caught up, lag at most ${peakLag.toLocaleString("en")}`);
  const isCounted =
    wellSince !== null && ledger?.checkedAt != null && Date.parse(ledger.checkedAt) > wellSince;
  const isOver = isCounted && ledger.verdict !== "unknown";
  return {
    run: {
      ...run,
      lines: [...run.lines, ...texts.map((text) => ({ at: flow.at, text }))],
      isOver,
      verdict: isOver ? ledger.verdict : null,
    },
    seen: { ...remembered(seen, next), peakLag, hasShown, wellSince },
  };
}

/** What is not known at this look stays as it was. */
function remembered(seen: Seen, next: Seen): Seen {
  return {
    ...next,
    version: next.version ?? seen.version,
    letters: next.ingesters.size === 0 ? seen.letters : next.letters,
  };
}

const versionOf = (stream: FlowStream | null): number | null =>
  (stream?.ingesters ?? []).reduce<number | null>(
    (most, { version }) => (version === null ? most : Math.max(most ?? 0, version)),
    null,
  );

const lettersOf = (stream: FlowStream | null): number =>
  (stream?.ingesters ?? []).reduce((sum, { totals }) => sum + totals.letters, 0);

function brokerTexts(seen: Seen, { problem }: Flow): string[] {
  if (problem !== null && seen.problem === null) return [`the broker does not answer (${problem.code})`];
  return problem === null && seen.problem !== null ? ["the broker answers again"] : [];
}

function ingesterTexts(seen: Seen, now: FlowIngester, stream: FlowStream): string[] {
  const { name, pid, status, state } = now;
  const before = seen.ingesters.get(name);
  const doing = `${name} is ${state}${state === "running" || now.reason === null ? "" : `: ${now.reason}`}`;
  if (before === undefined)
    return [`${name} joins as pid ${pid}`, ...(status === "answering" && state === "paused" ? [doing] : [])];
  const texts: string[] = [];
  if (processOf(now) !== processOf(before) && status === "answering") {
    const from = stream.partitions.flatMap(({ partition, settled, owner }) =>
      owner === name && settled !== null
        ? [`${stream.topic}-${partition} at ${(BigInt(settled) + 1n).toLocaleString("en")}`]
        : [],
    );
    const was = pid === before.pid ? `as before, started ${now.startedAt}` : `was pid ${before.pid}`;
    texts.push(
      `${name} is back as pid ${pid}, ${was}${from.length > 0 ? `; resumes ${from.join(", ")}` : ""}`,
    );
  } else if (status !== before.status) {
    if (status === "gone") texts.push(`${name} ended, pid ${pid}`);
    if (status === "silent") texts.push(`${name} does not answer, pid ${pid}`);
    if (status === "answering") texts.push(`${name} answers again, pid ${pid}`);
  }
  if (status === "answering" && state !== before.state) texts.push(doing);
  return texts;
}

function moveTexts(seen: Seen, stream: FlowStream | null): string[] {
  return (stream?.partitions ?? []).flatMap(({ partition, owner }) => {
    const before = seen.owners.get(partition);
    return owner !== null && before != null && owner !== before
      ? [`${stream!.topic}-${partition} moved from ${before} to ${owner}`]
      : [];
  });
}

function versionText(stream: FlowStream, version: number): string {
  const by = stream.ingesters.find(({ lastCommit }) => lastCommit?.version === version);
  return by?.lastCommit == null
    ? `version ${version}`
    : `version ${version} by pid ${by.pid}: ${by.lastCommit.rows.toLocaleString("en")} rows`;
}

function isRunning(stream: FlowStream | null): boolean {
  if (stream === null || stream.ingesters.length === 0) return false;
  const isCaughtUp =
    stream.lag === "0" || (stream.lagSeconds !== null && stream.lagSeconds < CAUGHT_UP_SECONDS);
  return (
    isCaughtUp && stream.ingesters.every(({ status, state }) => status === "answering" && state === "running")
  );
}
