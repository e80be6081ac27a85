import assert from "node:assert/strict";
import { test } from "node:test";
import type { IngestState, Part, PartitionState, ProduceState } from "../dashboard/control.ts";
import type { PartStatus } from "../services/supervisor.ts";
import { age, lagText, type StatusView, statusChanges, statusLines, statusSentence } from "./status-lines.ts";

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
      ...{ version: 61, buffer: { rows: 0, bytes: 0 }, lastCommit: null, lastError: null },
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
  lastLine: "Ctrl+C stops.",
};

test("each part has a line with sign, words and numbers; each stream one below the ingester", () => {
  assert.deepEqual(statusLines(view, { columns: 120, rows: 40 }), [
    "Delta Stream Lab   http://localhost:8080/?token=0123456789abcdef0123456789abcdef   up 2 min",
    "[ok] kafka           ready    pid 42  127.0.0.1:9092                     came back once",
    "[ok] ingest          running  pid 42",
    "     orders  version 61  +60,412 rows  lag 1,204 (1.1 s)  2 letters",
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
  assert.equal(statusSentence(view.parts), "orders version 61, +60,412 rows, lag 1,204 (1.1 s)");
  assert.equal(statusSentence([]), "no stream answers");
});

test("ages are short", () => {
  assert.deepEqual([5_000, 65_000, 11_100_000].map(age), ["5 s", "1 min", "3 h 5 min"]);
});
