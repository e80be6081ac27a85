/** The tutorial that opens a table in several engines, with Spark among them. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ensureBucket } from "../delta/store/s3.ts";
import { sharedBroker } from "./support/kafka.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";
import { runTutorial } from "./support/tutorial.ts";
import { sparkPython } from "./support/tutorial-pythons.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("Spark reads what the tutorial says that it reads", { timeout: 900_000 }, async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), "lab-spark-tutorial-"));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  for (const name of ["bin", "package.json"]) await symlink(join(root, name), join(cwd, name));
  const s3 = await sharedS3();
  await ensureBucket("lab", s3, t.signal);
  const page = await readFile(join(root, "docs", "tutorials", "other-engines.md"), "utf8");
  const { differences, printed } = await runTutorial(page, {
    ...{ cwd, pythons: sparkPython(cwd) },
    env: {
      ...{
        ...process.env,
        NO_COLOR: "1",
        LAB_FLUSH_LATENCY: "1m",
        KAFKA_BROKERS: (await sharedBroker()).join(","),
      },
      ...s3Env(s3),
    },
  });
  assert.equal(differences.join("\n\n"), "");
  assert.ok([...printed.values()].includes("1000 1000\n0\n"));
});
