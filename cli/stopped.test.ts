import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { signal, testTable } from "../test/support/upkeep-table.ts";
import { runLab } from "./lab.ts";

test("a change that is stopped says so and ends with 130, so that nobody takes it for done", async (t) => {
  const one = await testTable(t, { id: "long" });
  await one.append("SELECT range AS id FROM range(10)");
  const stream = () => {
    const pieces: string[] = [];
    return { pieces, write: (piece: string) => pieces.push(piece) };
  };
  const [stdout, stderr] = [stream(), stream()];
  const streams = { stdout, stderr } as unknown as Record<"stdout" | "stderr", NodeJS.WriteStream>;
  for (const argv of [
    ["delete", one.tablePath, "--where", "id < 5"],
    ["update", one.tablePath, "--set", "id=0", "--all"],
    ["overwrite", one.tablePath, "--select", "FROM current", "--all"],
  ]) {
    const before = process.listenerCount("SIGTERM");
    const status = runLab({ argv, env: {}, stdin: Readable.from([]), ...streams });
    const deadline = Date.now() + 30_000;
    while (process.listenerCount("SIGTERM") === before && Date.now() < deadline) await setImmediate();
    process.emit("SIGTERM");
    assert.equal(await status, 130, argv[0]);
    assert.match(stderr.pieces.join(""), /stopped before it was done/);
  }
  assert.deepEqual(stdout.pieces, []);
  assert.equal((await one.table.latest(signal)).version, 1);
});
