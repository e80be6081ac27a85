/** A process that races others to create paths: `race-child.ts FOLDER VERSIONS WRITERS`. Starts when its standard input ends. */

import { localStore } from "../../delta/store/local.ts";

const [folder, versions, writers] = process.argv.slice(2) as [string, string, string];
const { signal } = new AbortController();
const store = localStore(folder);

process.stdout.write("ready\n");
for await (const _ of process.stdin);

const won: Record<number, string> = {};
for (let version = 0; version < Number(versions); version++) {
  await Promise.all(
    Array.from({ length: Number(writers) }, async (_, i) => {
      const me = `${process.pid}/${i} ${"x".repeat(100_000)}`;
      const result = await store.putIfAbsent(
        `_delta_log/${version}.json`,
        new TextEncoder().encode(me),
        signal,
      );
      if (result === "created") won[version] = me;
    }),
  );
}
process.stdout.write(`${JSON.stringify(won)}\n`);
