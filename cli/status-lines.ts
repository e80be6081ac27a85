/** The lab in a few lines: what runs, what flows, what is wrong. Pure; `lab up` draws it live, `lab status` once. */

import type { Alert } from "../dashboard/alerts.ts";
import type { Part, ProduceState } from "../dashboard/control.ts";
import type { PartStatus } from "../services/supervisor.ts";
import { type Fit, fitLines, fitTo } from "./fit-lines.ts";
import {
  age,
  count,
  lagText,
  type Mark,
  nameOf,
  rateText,
  type StatusLine,
  streamLines,
  summaryOf,
} from "./stream-lines.ts";

export type StatusView = {
  /** The dashboard's link. */
  address: string | null;
  upMs: number | null;
  /** As the supervisor sees them, in the order of their start. */
  supervised: readonly PartStatus[];
  /** As they answered. */
  parts: readonly Part[];
  alerts: readonly Alert[];
  nowMs: number;
  lastLine: string;
};

const MOST_ALERTS = 10;
/** A plain line names each of so many streams. */
const MOST_NAMED = 5;

/** Lines that fit `columns` and `rows`; what does not fit ends in `+N more`. Signs and words carry the meaning, `paint` adds colour. */
export function statusLines(view: StatusView, fit: Fit): string[] {
  const body = [...alertLines(view), ...view.supervised.flatMap((status) => linesOf(status, view))];
  return [
    titleLine(view, fit.columns),
    ...fitLines(body, { ...fit, rows: fit.rows - 3 }),
    fitTo(view.lastLine, fit.columns),
  ];
}

function alertLines({ alerts, nowMs }: StatusView): StatusLine[] {
  const lines = alerts.slice(0, MOST_ALERTS).map(
    ({ severity, name, topic, part, message, since }): StatusLine => ({
      mark: severity === "critical" ? "[x]" : "[!]",
      indent: true,
      cells: [`${name} ${topic ?? part ?? ""}: ${message}, for ${age(nowMs - Date.parse(since))}`],
    }),
  );
  const more = alerts.length - lines.length;
  return more > 0 ? [...lines, { mark: "", indent: true, cells: [`+${more} more alerts`] }] : lines;
}

const stateOf = ({ name }: PartStatus, { parts }: StatusView) =>
  parts.find((part) => part.name === name)?.state ?? null;

/** Processes of one stream each are told together: what is well of them needs no line of its own beside its stream. */
function ingestersOf(view: StatusView): PartStatus[] {
  const all = view.supervised.filter((status) => status.kind === "ingest");
  if (all.length < 2) return [];
  return all.filter((status) => status.state === "ready" && stateOf(status, view)?.part === "ingest");
}

function linesOf(status: PartStatus, view: StatusView): StatusLine[] {
  const together = ingestersOf(view);
  if (together.includes(status)) return status === together[0] ? togetherLines(together, view) : [];
  const part = view.parts.find(({ name }) => name === status.name);
  const head = (mark: Mark, ...cells: string[]): StatusLine => ({
    mark,
    cells: [status.name, ...cells],
    indent: false,
  });
  const fix = status.lastHint ? `fix: ${status.lastHint}` : "";
  if (status.state === "failed") {
    const end = { mark: "", indent: true, cells: [fix] } as const;
    return [head("[x]", "failed", status.lastEnd ?? ""), ...(fix === "" ? [] : [end])];
  }
  if (status.state === "restarting") {
    return [head("[!]", "restarting", `${status.lastEnd ?? ""} (${status.restarts} so far)`)];
  }
  if (status.state !== "ready") return [head("", status.state)];
  const pid = status.pid === null ? "" : `pid ${status.pid}`;
  const again = status.restarts === 0 ? [] : [`came back ${times(status.restarts)}`];
  const state = part?.state ?? null;
  if (state?.part === "ingest") {
    const { mark, cells } = summaryOf(state.streams);
    const [states = "", ...flow] = cells;
    return [head(mark, states, pid, ...flow, ...again), ...streamLines(state.streams, view.nowMs)];
  }
  if (state?.part === "produce") return [produceLine(state, head, [pid, ...again])];
  const isSilent = part !== undefined && ["ingest", "produce"].includes(status.kind);
  if (isSilent) return [head("[!]", "does not answer", pid)];
  const where = status.kind === "dashboard" ? "" : (status.address ?? "");
  return [head("[ok]", "ready", pid, where, ...again)];
}

function togetherLines(ingesters: readonly PartStatus[], view: StatusView): StatusLine[] {
  const streams = ingesters.flatMap((status) => {
    const state = stateOf(status, view);
    return state?.part === "ingest" ? state.streams : [];
  });
  const { mark, cells } = summaryOf(streams);
  const restarts = ingesters.reduce((sum, one) => sum + one.restarts, 0);
  const again = restarts === 0 ? [] : [`came back ${times(restarts)}`];
  const head = [`ingest, ${ingesters.length} processes`, ...cells, ...again];
  return [{ mark, indent: false, cells: head }, ...streamLines(streams, view.nowMs)];
}

function produceLine(
  state: ProduceState,
  head: (mark: Mark, ...cells: string[]) => StatusLine,
  more: string[],
): StatusLine {
  const problem = state.lastError === null ? [] : [state.lastError.message];
  const phase = state.done ? "done" : "running";
  const what = `${count(BigInt(state.acked.total))} acked, ${rateText(state.ratePerSecond)}`;
  return head(problem.length > 0 ? "[!]" : "[ok]", phase, ...more, what, ...problem);
}

/** What changed for the worse or the better between two looks, one line each. */
export function statusChanges(before: readonly PartStatus[], after: readonly PartStatus[]): string[] {
  return after.flatMap((now) => {
    const then = before.find(({ name }) => name === now.name);
    if (then === undefined || (then.state === now.state && then.restarts === now.restarts)) return [];
    if (now.state === "failed") {
      const fix = now.lastHint ? `; fix: ${now.lastHint}` : "";
      return [`[x] ${now.name} failed: ${now.lastEnd}${fix}`];
    }
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
  if (streams.length > MOST_NAMED) {
    const [states, ...flow] = summaryOf(streams).cells;
    return `${states}; ${flow.join(", ")}`;
  }
  const told = streams.map(
    (stream) =>
      `${nameOf(stream, streams)} version ${stream.version ?? "-"}, ${count(stream.totals.rows)} rows since start, ${lagText(stream)}`,
  );
  return told.length === 0 ? "no stream answers" : told.join("; ");
}

function times(n: number): string {
  return n === 1 ? "once" : `${n} times`;
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
