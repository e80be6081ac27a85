/** The ingester as its users run it, with everything on that is on by default, and a table partitioned by date. */

import { fileURLToPath } from "node:url";
import { IDENTITY } from "./check-table.ts";
import type { Contender } from "./contender.ts";
import { measured } from "./measured.ts";

/** `lab` of a clone. */
export const LAB = fileURLToPath(new URL("../bin/lab.js", import.meta.url));

/** `program` is run by Node; `options` come before it. */
export function ours(
  name: string,
  program: string,
  options: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Contender {
  return {
    name,
    identity: () => IDENTITY.kafka,
    run({ brokers, topic, table, folder }, signal) {
      const args = ["ingest", "--once", "--kafka", brokers.join(","), "--topic", topic, "--table", table];
      return measured([...options, program, ...args, "--partition-by", "date"], { cwd: folder, env }, signal);
    },
  };
}
