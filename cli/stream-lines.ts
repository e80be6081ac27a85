/** Streams in lines: one each, those in trouble first; and many of them in a few words. Pure. */

import type { StreamState } from "../dashboard/control.ts";

export type Mark = "[ok]" | "[!]" | "[x]" | "";
export type StatusLine = { mark: Mark; cells: readonly string[]; indent: boolean };

/** One line a stream, the worst first; among those that are well, the one that is furthest behind. */
export function streamLines(streams: readonly StreamState[], nowMs: number): StatusLine[] {
  return [...streams]
    .sort(
      (a, b) => trouble(a) - trouble(b) || lagSeconds(b) - lagSeconds(a) || a.table.localeCompare(b.table),
    )
    .map((stream) => ({
      mark: markOf(stream),
      indent: true,
      cells: [nameOf(stream, streams), ...cellsOf(stream, nowMs)],
    }));
}

/** The table, and where several topics fill it, the topic too. */
export function nameOf(stream: StreamState, all: readonly StreamState[]): string {
  const { table, tableUri, topic } = stream;
  const isShared = all.some((one) => one !== stream && one.table === table && one.tableUri === tableUri);
  return isShared ? `${table} from ${topic}` : table;
}

/** The mark of all of them together, and what to say: `running`, or `3 streams: 1 failed, 2 running`. */
export function summaryOf(streams: readonly StreamState[]): { mark: Mark; cells: string[] } {
  const mark = streams.some(({ state }) => state === "failed")
    ? "[x]"
    : streams.some(({ state }) => state === "paused")
      ? "[!]"
      : "[ok]";
  const [first] = streams;
  if (first === undefined) return { mark, cells: ["starting"] };
  if (streams.length === 1) return { mark, cells: [first.state] };
  const states = [...new Set([...streams].sort((a, b) => trouble(a) - trouble(b)).map(({ state }) => state))];
  const counts = states.map((state) => `${streams.filter((one) => one.state === state).length} ${state}`);
  return { mark, cells: [`${streams.length} streams: ${counts.join(", ")}`, ...flowOf(streams)] };
}

/** Rate and lag of all of them together. */
function flowOf(streams: readonly StreamState[]): string[] {
  const rate = streams.reduce((sum, { ratePerSecond }) => sum + ratePerSecond, 0);
  return [rateText(rate), lagText({ partitions: streams.flatMap(({ partitions }) => partitions) })];
}

/** The sum over partitions, and the seconds of the one that is furthest behind; `?` where one is not known. */
export function lagText({ partitions }: Pick<StreamState, "partitions">): string {
  if (partitions.some(({ lag }) => lag === null)) return "lag ?";
  const records = partitions.reduce((sum, { lag }) => sum + BigInt(lag ?? 0), 0n);
  const seconds = Math.max(0, ...partitions.map(({ lagSeconds }) => lagSeconds ?? 0));
  return records === 0n ? "lag 0" : `lag ${count(records)} (${seconds.toFixed(1)} s)`;
}

export function rateText(perSecond: number): string {
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))}/s`;
}

/** `2 min`, `3 h 5 min`. */
export function age(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function count(value: number | bigint): string {
  return value.toLocaleString("en-US");
}

const ORDER: Record<StreamState["state"], number> = {
  ...{ failed: 0, paused: 1, stopped: 3, stopping: 4, joining: 5, starting: 6, running: 7 },
};

/** A stream that waits for its own commits is worse off than one that joins, and better than one whose store is away. */
function trouble({ state, reason }: StreamState): number {
  return state === "running" && reason !== null ? 2 : ORDER[state];
}

function markOf({ state, reason }: StreamState): Mark {
  if (state === "failed") return "[x]";
  return state === "paused" || reason !== null ? "[!]" : "";
}

function lagSeconds({ partitions }: StreamState): number {
  return Math.max(0, ...partitions.map((one) => one.lagSeconds ?? 0));
}

function cellsOf(stream: StreamState, nowMs: number): string[] {
  const { state, version, lastCommit, totals, reason, lastError } = stream;
  const since = (at: string) => `${age(nowMs - Date.parse(at))} ago`;
  const commit =
    lastCommit !== null
      ? `version ${lastCommit.version}, ${since(lastCommit.at)}`
      : version === null
        ? "no commit yet"
        : `version ${version}`;
  // Who has ended does not look any more, and who begins has not looked yet.
  const isLooking = !["failed", "stopped", "starting", "joining"].includes(state);
  const lag = isLooking ? lagText(stream) : "lag ?";
  const letters = totals.letters > 0 ? [`${count(totals.letters)} letters`] : [];
  const why =
    state === "failed" && lastError !== null
      ? [`${lastError.code}: ${lastError.message}`]
      : reason !== null
        ? [reason]
        : lastError !== null
          ? [`last error ${lastError.code}, ${since(lastError.at)}`]
          : [];
  return [
    ...[state, rateText(stream.ratePerSecond), lag, commit, `${count(totals.rows)} rows since start`],
    ...letters,
    ...why,
  ];
}
