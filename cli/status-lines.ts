/** The lab in a few lines: what runs, what flows, what is wrong. Pure; `lab up` draws it live, `lab status` once. */

import type { IngestState, Part, ProduceState, StreamState } from "../dashboard/control.ts";
import type { PartStatus } from "../services/supervisor.ts";

export type StatusView = {
  /** The dashboard's link. */
  address: string | null;
  upMs: number | null;
  /** As the supervisor sees them, in the order of their start. */
  supervised: readonly PartStatus[];
  /** As they answered. */
  parts: readonly Part[];
  lastLine: string;
};

type Mark = "[ok]" | "[!]" | "[x]" | "";
export type StatusLine = { mark: Mark; cells: readonly string[]; indent: boolean };

/** Lines that fit `columns` and `rows`; what does not fit ends in `+N more`. Signs and words carry the meaning, `paint` adds colour. */
export function statusLines(
  view: StatusView,
  fit: { columns: number; rows: number; paint?: (mark: Mark, text: string) => string },
): string[] {
  const { columns, rows, paint = (_, text) => text } = fit;
  const body = [...view.supervised.flatMap((status) => linesOf(status, view))];
  const room = Math.max(1, rows - 3);
  const shown = body.length > room ? body.slice(0, room - 1) : body;
  const hidden = body.length - shown.length;
  const widths = columnWidths(shown);
  return [
    titleLine(view, columns),
    ...shown.map(({ mark, cells, indent }) => {
      const padded = cells.map((cell, n) => cell.padEnd(widths.get(`${indent}:${n}`) ?? 0)).join("  ");
      const line = `${mark.padEnd(4)} ${padded}`.trimEnd();
      return paint(mark, fitTo(line, columns));
    }),
    ...(hidden > 0 ? [`     +${hidden} more`] : []),
    fitTo(view.lastLine, columns),
  ];
}

function linesOf(status: PartStatus, view: StatusView): StatusLine[] {
  const part = view.parts.find(({ name }) => name === status.name);
  const head = (mark: Mark, ...cells: string[]): StatusLine => ({
    mark,
    cells: [status.name, ...cells],
    indent: false,
  });
  if (status.state === "failed") return [head("[x]", "failed", status.lastEnd ?? "")];
  if (status.state === "restarting") {
    return [head("[!]", "restarting", `${status.lastEnd ?? ""} (${status.restarts} so far)`)];
  }
  if (status.state !== "ready") return [head("", status.state)];
  const pid = status.pid === null ? "" : `pid ${status.pid}`;
  const again = status.restarts === 0 ? [] : [`came back ${times(status.restarts)}`];
  const state = part?.state ?? null;
  if (state?.part === "ingest") return ingestLines(state, head, [pid, ...again]);
  if (state?.part === "produce") return [produceLine(state, head, [pid, ...again])];
  const isSilent = part !== undefined && ["ingest", "produce"].includes(status.kind);
  if (isSilent) return [head("[!]", "does not answer", pid)];
  const where = status.kind === "dashboard" ? "" : (status.address ?? "");
  return [head("[ok]", "ready", pid, where, ...again)];
}

function ingestLines(
  state: IngestState,
  head: (mark: Mark, ...cells: string[]) => StatusLine,
  more: string[],
): StatusLine[] {
  const isPaused = state.streams.some((stream) => stream.state === "paused");
  const states = [...new Set(state.streams.map((stream) => stream.state))].join(", ");
  return [
    head(isPaused ? "[!]" : "[ok]", states || "starting", ...more),
    ...state.streams.map((stream): StatusLine => ({ mark: "", indent: true, cells: streamCells(stream) })),
  ];
}

function streamCells(stream: StreamState): string[] {
  const letters = stream.totals.letters > 0 ? [`${count(stream.totals.letters)} letters`] : [];
  const why = stream.reason === null ? [] : [stream.reason];
  return [
    stream.table,
    stream.version === null ? "no commit yet" : `version ${stream.version}`,
    `+${count(stream.totals.rows)} rows`,
    lagText(stream),
    ...letters,
    ...why,
  ];
}

/** The sum over partitions, and the seconds of the one that is furthest behind; `?` where one is not known. */
export function lagText({ partitions }: Pick<StreamState, "partitions">): string {
  if (partitions.some(({ lag }) => lag === null)) return "lag ?";
  const records = partitions.reduce((sum, { lag }) => sum + BigInt(lag ?? 0), 0n);
  const seconds = Math.max(0, ...partitions.map(({ lagSeconds }) => lagSeconds ?? 0));
  return records === 0n ? "lag 0" : `lag ${count(records)} (${seconds.toFixed(1)} s)`;
}

function produceLine(
  state: ProduceState,
  head: (mark: Mark, ...cells: string[]) => StatusLine,
  more: string[],
): StatusLine {
  const rate =
    state.ratePerSecond < 10 ? state.ratePerSecond.toFixed(1) : count(Math.round(state.ratePerSecond));
  const problem = state.lastError === null ? [] : [state.lastError.message];
  const phase = state.done ? "done" : "running";
  const what = `${count(BigInt(state.acked.total))} acked, ${rate}/s`;
  return head(problem.length > 0 ? "[!]" : "[ok]", phase, ...more, what, ...problem);
}

/** What changed for the worse or the better between two looks, one line each. */
export function statusChanges(before: readonly PartStatus[], after: readonly PartStatus[]): string[] {
  return after.flatMap((now) => {
    const then = before.find(({ name }) => name === now.name);
    if (then === undefined || (then.state === now.state && then.restarts === now.restarts)) return [];
    if (now.state === "failed") return [`[x] ${now.name} failed: ${now.lastEnd}`];
    if (now.state === "done") return [`[ok] ${now.name} is done`];
    if (now.restarts > then.restarts) return [`[!] ${now.name} ended: ${now.lastEnd}; starting again`];
    if (then.state === "restarting" && now.state === "ready")
      return [`[ok] ${now.name} is back: pid ${now.pid}`];
    return [];
  });
}

/** One plain line, for a log that nobody redraws. */
export function statusSentence(parts: readonly Part[]): string {
  const streams = parts.flatMap(({ state }) => (state?.part === "ingest" ? state.streams : []));
  const told = streams.map(
    (stream) =>
      `${stream.table} version ${stream.version ?? "-"}, +${count(stream.totals.rows)} rows, ${lagText(stream)}`,
  );
  return told.length === 0 ? "no stream answers" : told.join("; ");
}

/** `2 min`, `3 h 5 min`. */
export function age(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function count(value: number | bigint): string {
  return value.toLocaleString("en-US");
}

function times(n: number): string {
  return n === 1 ? "once" : `${n} times`;
}

function columnWidths(lines: readonly StatusLine[]): Map<string, number> {
  const widths = new Map<string, number>();
  for (const { cells, indent } of lines) {
    for (const [n, cell] of cells.entries()) {
      const key = `${indent}:${n}`;
      widths.set(key, Math.max(widths.get(key) ?? 0, cell.length));
    }
  }
  return widths;
}

/** A link that is cut is none: what does not fit is left out, first the token, then all but the link. */
function titleLine({ address, upMs }: StatusView, columns: number): string {
  const link = (address ?? "").replace(/\/?\?.*$/, "");
  const up = upMs === null ? "" : `up ${age(upMs)}`;
  const name = "Delta Stream Lab";
  const lines = [[name, address ?? "", up], [name, link, up], [name, link], [link || name]].map((parts) =>
    parts.filter((part) => part !== "").join("   "),
  );
  return lines.find((line) => line.length < columns) ?? fitTo(link, columns);
}

function fitTo(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, columns - 4)}...`;
}
