import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createReport } from "../ingest/report.ts";
import { createScreen } from "./screen.ts";
import { watchStreams } from "./stream-watch.ts";

test("the bar of a run with an end is named after the command and the topic, and a line that is to stay finds a clean place", async (t) => {
  mock.timers.enable({ apis: ["setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const written: string[] = [];
  const stream = { isTTY: true, columns: 100, rows: 24, write: (piece: string) => written.push(piece) > 0 };
  const screen = createScreen({ stdout: stream, stderr: stream, env: {}, noColor: true });
  const idle = createReport({ topic: "people", tableUri: "file:///people" }, Date.now).read();
  let settled = 0n;
  const partition = { partition: 0, settled: null, position: "0", end: "100", lagSeconds: 0, buffered: 0 };
  const reports = () => [{ ...idle, partitions: [{ ...partition, lag: (100n - settled).toString() }] }];
  const watch = await watchStreams(screen, { label: "merge people", once: true, reports });
  mock.timers.tick(250);
  settled = 50n;
  mock.timers.tick(1000);
  assert.match(written.at(-1)!, /merge people {2}\[#{12}\.{12}\] 50 % {2}50\/100/);
  watch.clear();
  assert.equal(written.at(-1), "\r\u001b[2K");
  watch.end();
});
