import assert from "node:assert/strict";
import { test } from "node:test";
import { type Engine, openEngine } from "./instance.ts";
import { numberChunks } from "./number-chunks.ts";
import { stream } from "./result.ts";

const LONG = "SELECT count(*)::VARCHAR FROM range(1000000) a, range(1000000) b WHERE a.range + b.range > 7";

const readStream = async (engine: Engine, signal: AbortSignal, isSmall: boolean) => {
  const { chunks } = await stream(engine, LONG, signal, { isSmall });
  for await (const _ of chunks);
};

for (const [name, ask] of Object.entries({
  "that is streamed": (engine, signal) => readStream(engine, signal, false),
  "that gives one row": (engine, signal) => readStream(engine, signal, true),
  "whose rows are gathered": (engine, signal) => engine.rows(LONG, { signal }),
  "without rows": (engine, signal) => engine.run(LONG, { signal }),
  "that stays prepared": (engine, signal) => engine.ask(`${LONG} + length($1)`, "text", { signal }),
  "of millions of numbers": async (engine, signal) => {
    for await (const _ of numberChunks(engine, LONG, signal));
  },
} satisfies Record<string, (engine: Engine, signal: AbortSignal) => Promise<unknown>>))
  test(`an abort ends a statement ${name}, also one that waits for its turn`, async (t) => {
    const settings = { memoryLimitBytes: 256 << 20, threads: 1, tempDir: null };
    // More than the threads that statements wait for.
    const engines = await Promise.all(Array.from({ length: 12 }, () => openEngine(settings)));
    t.after(() => engines.forEach((engine) => void engine.close()));
    const stop = new AbortController();
    const asked = engines.map((engine) => ask(engine, stop.signal));
    setImmediate(() => stop.abort(new Error("enough")));
    for (const end of await Promise.allSettled(asked))
      assert.match(String(end.status === "rejected" && end.reason), /enough/);
  });
