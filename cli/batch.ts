/** `lab batch`: many requests in one process, for scripts and suites. */

import type { Readable } from "node:stream";
import { runBatch } from "../query/batch.ts";
import { ASK, NAMED_TABLES, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";

export const batch = defineCommand({
  name: "batch",
  summary: "Answer many requests, a JSON object a line in and one a line out",
  examples: [
    `echo '{"op":"rows","table":"./lab-data/tables/orders","version":3}' | lab batch`,
    `echo '{"op":"query","sql":"SELECT count(*) FROM orders"}' | lab batch`,
    `echo '{"op":"changes","table":"orders","from":3,"to":7}' | lab batch`,
  ],
  settings: { ...ASK, tables: NAMED_TABLES },
  seeAlso: ["query", "history", "diff"],
  async run({ screen, stdin, signal }, values) {
    await withQuery(values, (query) => runBatch(query, stdin as Readable, screen.write, signal));
    return 0;
  },
});
