/** From the word a user gives to a source of messages. */

import { LabError } from "../core/errors.ts";
import { customersSource } from "./customers.ts";
import { dummySource } from "./dummy.ts";
import { csvSource, ndjsonSource, stdinSource } from "./file.ts";
import { ordersSource } from "./orders.ts";
import type { MessageSource } from "./source.ts";

export type SourceContext = { seed: number; now: () => number; stdin: AsyncIterable<Buffer | string> };

/** `dummy`, `orders`, `customers`, `-`, or a file by the ending of its name. USAGE for anything else. */
export function findSource(word: string, context: SourceContext): MessageSource {
  if (word === "dummy") return dummySource(context.now);
  if (word === "orders") return ordersSource(context.seed);
  if (word === "customers") return customersSource(context.seed);
  if (word === "-") return stdinSource(context.stdin);
  if (/\.(ndjson|jsonl|json)$/i.test(word)) return ndjsonSource(word);
  if (/\.csv$/i.test(word)) return csvSource(word);
  throw new LabError("USAGE", `${word} is no source: the ending of a file's name says what is in it`, {
    hint: "give dummy, orders, customers, FILE.ndjson, .jsonl, .json or .csv, or - for NDJSON on standard input",
  });
}
