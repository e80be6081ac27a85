import assert from "node:assert/strict";
import { test } from "node:test";
import { fitLines } from "./fit-lines.ts";
import type { StatusLine } from "./stream-lines.ts";

const line = (mark: StatusLine["mark"], ...cells: string[]): StatusLine => ({ mark, cells, indent: false });
const BODY = [
  line("[ok]", "kafka", "ready", "127.0.0.1:9092"),
  line("[ok]", "ingest", "2 streams: 2 running", "49/s", "lag 19 (1.1 s)"),
];

test("lines stand in columns while they fit, and on a narrow screen what they tell comes before that", () => {
  assert.deepEqual(fitLines(BODY, { columns: 80, rows: 10 }), [
    "[ok] kafka   ready                 127.0.0.1:9092",
    "[ok] ingest  2 streams: 2 running  49/s            lag 19 (1.1 s)",
  ]);
  assert.deepEqual(fitLines(BODY, { columns: 56, rows: 10 }), [
    "[ok] kafka   ready                 127.0.0.1:9092",
    "[ok] ingest  2 streams: 2 running  49/s  lag 19 (1.1 s)",
  ]);
  assert.deepEqual(fitLines(BODY, { columns: 42, rows: 10 }), [
    "[ok] kafka   ready  127.0.0.1:9092",
    "[ok] ingest  2 streams: 2 running  49/...",
  ]);
});

test("what has no room is counted, and no line is as wide as the screen", () => {
  const many = Array.from({ length: 9 }, (_, n) => line("", `stream-${n}`, "x".repeat(100)));
  const shown = fitLines(many, { columns: 50, rows: 4 });
  assert.deepEqual([shown.length, shown.at(-1)], [4, "     +6 more"]);
  assert.ok(shown.every(({ length }) => length < 50));
});
