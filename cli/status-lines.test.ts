import assert from "node:assert/strict";
import { test } from "node:test";
import type { Alert } from "../dashboard/alerts.ts";
import type { IngestState, Part, PartitionState, ProduceState, StreamState } from "../dashboard/control.ts";
import type { PartStatus } from "../services/supervisor.ts";
import { type StatusView, statusChanges, statusLines, statusSentence } from "./status-lines.ts";
import { age, lagText, streamLines } from "./stream-lines.ts";

const NOW = Date.parse("2026-11-30T12:00:00.000Z");

const supervised = (name: string, kind: string, change: Partial<PartStatus> = {}): PartStatus => ({
  ...{ name, kind, state: "ready", pid: 42, address: null, restarts: 0, lastEnd: null },
  ...change,
});
const part = (name: string, kind: string, state: Part["state"]): Part => ({
  ...{ name, kind, pid: 42, startedAt: null, alive: true, address: null, state },
});
const partition = (change: Partial<PartitionState>): PartitionState => ({
  ...{ partition: 0, settled: "1", position: "2", end: "2", lag: "0", lagSeconds: 0, buffered: 0 },
  ...change,
});
const ingesting: IngestState = {
  part: "ingest",
  pid: 42,
  streams: [
    {
      ...{ topic: "orders", table: "orders", tableUri: "file:///t/orders", state: "running", reason: null },
      ...{ version: 61, buffer: { rows: 0, bytes: 0 }, lastError: null },
      lastCommit: { version: 61, at: "2026-11-30T11:59:57.000Z", rows: 9, letters: 0, durationMs: 8 },
      ...{ ratePerSecond: 49.5, secondsSinceProgress: 0.4 },
      partitions: [partition({ lag: "1200", lagSeconds: 1.1 }), partition({ partition: 1, lag: "4" })],
      totals: { rows: 60_412, letters: 2, skipped: 0, commits: 61, conflicts: 0, rebalances: 1 },
    },
  ],
};
const producing: ProduceState = {
  ...{ part: "produce", pid: 42, topic: "orders", source: "orders", bytes: "1" },
  acked: { total: "9007199254740993", partitions: {} },
  ...{ ratePerSecond: 49.6, lastError: null, done: false },
};
const view: StatusView = {
  address: "http://localhost:8080/?token=0123456789abcdef0123456789abcdef",
  upMs: 125_000,
  supervised: [
    supervised("kafka", "kafka", { address: "127.0.0.1:9092", restarts: 1 }),
    supervised("ingest", "ingest"),
    supervised("produce-orders", "produce"),
  ],
  parts: [part("ingest", "ingest", ingesting), part("produce-orders", "produce", producing)],
  alerts: [],
  nowMs: NOW,
  lastLine: "Ctrl+C stops.",
};

test("each part has a line with sign, words and numbers; each stream one below the ingester", () => {
  assert.deepEqual(statusLines(view, { columns: 120, rows: 40 }), [
    "Delta Stream Lab   http://localhost:8080/?token=0123456789abcdef0123456789abcdef   up 2 min",
    "[ok] kafka           ready    pid 42  127.0.0.1:9092                     came back once",
    "[ok] ingest          running  pid 42",
    "     orders  running  50/s  lag 1,204 (1.1 s)  version 61, 3 s ago  60,412 rows since start  2 letters",
    "[ok] produce-orders  running  pid 42  9,007,199,254,740,993 acked, 50/s",
    "Ctrl+C stops.",
  ]);
});

test("no line is wider than the screen, and a link that does not fit loses its token, not its end", () => {
  for (const columns of [40, 60, 80]) {
    const lines = statusLines(view, { columns, rows: 40 });
    assert.ok(
      lines.every((line) => line.length < columns),
      lines.join("\n"),
    );
    assert.ok(lines[0]?.includes("http://localhost:8080"));
    assert.ok(!lines[0]?.includes("?token=0123456789abcdef0123456789abcde."));
  }
});

test("what does not fit below ends in how much more there is, with the last line kept", () => {
  const lines = statusLines(view, { columns: 120, rows: 5 });
  assert.equal(lines.length, 4);
  assert.deepEqual(lines.slice(-2), ["     +3 more", "Ctrl+C stops."]);
});

test("a part that is restarting, failed, silent or paused is marked and says why", () => {
  const line = (status: PartStatus, parts: Part[] = []) =>
    statusLines({ ...view, supervised: [status], parts }, { columns: 120, rows: 40 })[1];
  const killed = { state: "restarting", restarts: 2, lastEnd: "killed by SIGKILL" } as const;
  assert.equal(
    line(supervised("kafka", "kafka", killed)),
    "[!]  kafka  restarting  killed by SIGKILL (2 so far)",
  );
  const refused = { state: "failed", lastEnd: "exit 2; its settings are refused" } as const;
  assert.equal(
    line(supervised("ingest", "ingest", refused)),
    "[x]  ingest  failed  exit 2; its settings are refused",
  );
  assert.equal(
    line(supervised("ingest", "ingest"), [part("ingest", "ingest", null)]),
    "[!]  ingest  does not answer  pid 42",
  );
  const paused: IngestState = {
    ...ingesting,
    streams: ingesting.streams.map((one) => ({ ...one, state: "paused" })),
  };
  assert.match(
    line(supervised("ingest", "ingest"), [part("ingest", "ingest", paused)]) ?? "",
    /^\[!\] {2}ingest {2}paused/,
  );
});

test("a part that is given up says the way out below, and when it happens", () => {
  const end = "exit 1, TOPIC_RESET: the topic was made anew; it ended so 3 times in a row";
  const failed = { state: "failed", lastEnd: end, lastHint: "--on-topic-reset restart" } as const;
  const status = supervised("ingest-orders", "ingest", failed);
  const lines = statusLines({ ...view, supervised: [status], parts: [] }, { columns: 200, rows: 40 });
  assert.deepEqual(lines.slice(1, 3), [
    `[x]  ingest-orders  failed  ${end}`,
    "     fix: --on-topic-reset restart",
  ]);
  assert.deepEqual(statusChanges([supervised("ingest-orders", "ingest")], [status]), [
    `[x] ingest-orders failed: ${end}; fix: --on-topic-reset restart`,
  ]);
});

test("topics that fill one table are told apart", () => {
  const [orders] = ingesting.streams as [StreamState];
  const streams = [
    orders,
    { ...orders, topic: "refunds" },
    { ...orders, topic: "x", table: "x", tableUri: "file:///t/x" },
  ];
  const names = streamLines(streams, NOW).map(({ cells }) => cells[0]);
  assert.deepEqual(names, ["orders from orders", "orders from refunds", "x"]);
  const parts = [part("ingest", "ingest", { ...ingesting, streams })];
  assert.match(statusSentence(parts), /^orders from orders version 61.*; orders from refunds version 61/);
});

test("a lag that is not known is ?, never 0", () => {
  assert.equal(lagText({ partitions: [partition({}), partition({ lag: null })] }), "lag ?");
  assert.equal(lagText({ partitions: [partition({})] }), "lag 0");
});

test("changes are told once, in words", () => {
  const before = [supervised("a", "ingest"), supervised("b", "produce"), supervised("c", "kafka")];
  assert.deepEqual(statusChanges(before, before), []);
  const [a, b, c] = before as [PartStatus, PartStatus, PartStatus];
  const down = [
    { ...a, state: "restarting", restarts: 1, lastEnd: "killed by SIGKILL" },
    { ...b, state: "done" },
    { ...c, state: "failed", lastEnd: "exit 1" },
  ] as PartStatus[];
  assert.deepEqual(statusChanges(before, down), [
    "[!] a ended: killed by SIGKILL; starting again",
    "[ok] b is done",
    "[x] c failed: exit 1",
  ]);
  assert.deepEqual(statusChanges(down, [{ ...(down[0] as PartStatus), state: "ready", pid: 7 }]), [
    "[ok] a is back: pid 7",
  ]);
});

test("for a log there is one plain sentence", () => {
  assert.equal(statusSentence(view.parts), "orders version 61, 60,412 rows since start, lag 1,204 (1.1 s)");
  assert.equal(statusSentence([]), "no stream answers");
});

test("ages are short", () => {
  assert.deepEqual([5_000, 65_000, 11_100_000].map(age), ["5 s", "1 min", "3 h 5 min"]);
});

/** Seventy streams of which one failed, one waits for the store, one for its commits, and one is far behind. */
function seventy(): StreamState[] {
  const [base] = ingesting.streams as [StreamState];
  const streams = Array.from({ length: 70 }, (_, n): StreamState => {
    const table = `t${String(n).padStart(2, "0")}`;
    const partitions = [partition({ lag: n === 30 ? "900" : "0", lagSeconds: n === 30 ? 55 : 0 })];
    return { ...base, topic: table, table, partitions, totals: { ...base.totals, letters: 0 } };
  });
  const at = "2026-11-30T11:55:00.000Z";
  const lastError = { code: "TOPIC_RESET", message: "the topic was made anew", at };
  Object.assign(streams[40] as StreamState, { state: "failed", reason: lastError.message, lastError });
  Object.assign(streams[50] as StreamState, { state: "paused", reason: "the store is away, retry in 8.0 s" });
  Object.assign(streams[20] as StreamState, { reason: "byte budget reached: waiting for commits" });
  Object.assign(streams[10] as StreamState, { lastError: { ...lastError, code: "STORE_UNREACHABLE" } });
  return streams;
}

test("seventy streams are seventy lines, the worst first, and their sum is one line above", () => {
  const parts = [part("ingest", "ingest", { ...ingesting, streams: seventy() })];
  const only = { ...view, supervised: [supervised("ingest", "ingest")], parts };
  const lines = statusLines(only, { columns: 160, rows: 1_000 });
  assert.equal(lines.length, 1 + 1 + 70 + 1);
  assert.equal(
    lines[1],
    "[x]  ingest  70 streams: 1 failed, 1 paused, 68 running  pid 42  3,465/s  lag 900 (55.0 s)",
  );
  assert.match(lines[2]!, /^\[x\] {2}t40 {2}failed .* lag \? .*TOPIC_RESET: the topic was made anew$/);
  assert.match(lines[3]!, /^\[!\] {2}t50 {2}paused .*retry in 8.0 s$/);
  assert.match(lines[4]!, /^\[!\] {2}t20 {2}running .*waiting for commits$/);
  assert.match(lines[5]!, /^ {5}t30 {2}running .*lag 900 \(55.0 s\)/);
  assert.match(lines.find((line) => line.includes("t10"))!, /last error STORE_UNREACHABLE, 5 min ago$/);
  const short = statusLines(only, { columns: 160, rows: 10 });
  assert.deepEqual([short.length, short.at(-2)], [9, "     +65 more"]);
});

test("processes of one stream each are summed, and one that is down has its own line", () => {
  const [a, b, c] = seventy().slice(0, 3) as [StreamState, StreamState, StreamState];
  const names = ["ingest-t00", "ingest-t01", "ingest-t02"];
  const parts = [a, b, c].map((stream, n) => part(names[n]!, "ingest", { ...ingesting, streams: [stream] }));
  const down = supervised("ingest-t02", "ingest", { state: "restarting", restarts: 1, lastEnd: "exit 1" });
  const all = [supervised("ingest-t00", "ingest"), supervised("ingest-t01", "ingest"), down];
  const lines = statusLines({ ...view, supervised: all, parts }, { columns: 160, rows: 40 });
  assert.match(lines[1]!, /^\[ok\] ingest, 2 processes +2 streams: 2 running +99\/s +lag 0$/);
  assert.match(lines[2]!, /^ {5}t00 {2}running/);
  assert.match(lines[4]!, /^\[!\] {2}ingest-t02 +restarting +exit 1 \(1 so far\)$/);
  assert.equal(lines.length, 1 + 1 + 2 + 1 + 1);
});

test("alerts stand above all, ten of them at most", () => {
  const alert = (n: number): Alert => ({
    ...{
      name: "LabPaused",
      severity: n === 0 ? "critical" : "warning",
      topic: `t${n}`,
      table: `t${n}`,
      part: null,
    },
    ...{ since: "2026-11-30T11:50:00.000Z", message: "waits: the store is away" },
  });
  const alerts = Array.from({ length: 12 }, (_, n) => alert(n));
  const lines = statusLines({ ...view, alerts }, { columns: 160, rows: 40 });
  assert.ok(lines.includes(statusLines(view, { columns: 160, rows: 40 })[3]!), "streams keep their columns");
  assert.equal(lines[1], "[x]  LabPaused t0: waits: the store is away, for 10 min");
  assert.equal(lines[2], "[!]  LabPaused t1: waits: the store is away, for 10 min");
  assert.equal(lines[11], "     +2 more alerts");
});

test("for a log, many streams are summed, too", () => {
  const parts = [part("ingest", "ingest", { ...ingesting, streams: seventy() })];
  assert.equal(
    statusSentence(parts),
    "70 streams: 1 failed, 1 paused, 68 running; 3,465/s, lag 900 (55.0 s)",
  );
});
