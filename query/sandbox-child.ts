/** The process behind `sandbox.ts`: answers one query at a time, and ends with its parent. */

import { setInterval } from "node:timers";
import { asLabError } from "../core/errors.ts";
import { openQuery, type Query } from "./query.ts";
import { answer } from "./run.ts";
import type { ChildMessage, ChildRequest, ChildSetup } from "./sandbox.ts";

/** What Node, DuckDB and an answer need beside the engine's own memory limit. */
const OVERHEAD_BYTES = 700 * 1024 ** 2;

let setup: ChildSetup | undefined;
let query: Query | undefined;

process.on("disconnect", () => process.exit(0));
// A terminal's Ctrl+C reaches the whole group; the parent decides.
process.on("SIGINT", () => {});
process.on("message", (message: ChildSetup | ChildRequest) => {
  if ("sql" in message) {
    void run(message);
    return;
  }
  setup = message;
  query = openQuery({
    store: message.store,
    tables: new Map(message.tables),
    limits: message.limits,
    ...(message.cache ? { cache: message.cache } : {}),
  });
  watchMemory(message.limits.memoryLimitBytes + OVERHEAD_BYTES);
});

async function run({ sql, point }: ChildRequest): Promise<void> {
  const { maxRows, maxBytes } = setup!.limits;
  try {
    const found = await answer(query!.context, sql, {
      point: point ?? undefined,
      untrusted: true,
      onRun: () => send({ kind: "running" }),
      maxRows,
      maxBytes,
      signal: new AbortController().signal,
    });
    send({ kind: "answer", answer: found, rssBytes: process.memoryUsage.rss() });
  } catch (error) {
    const { code, message, hint = null, details } = asLabError(error);
    const position = typeof details.position === "number" ? details.position : null;
    send({ kind: "error", code, message, hint, position });
  }
}

/** Not all that DuckDB allocates counts towards its limit, so the process as a whole is watched too. */
function watchMemory(maxBytes: number): void {
  setInterval(() => {
    if (process.memoryUsage.rss() > maxBytes) process.exit(1);
  }, 50).unref();
}

function send(message: ChildMessage): void {
  process.send?.(message);
}
