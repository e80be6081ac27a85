/** The tutorials do what they say: each shell block runs, and each output that a page shows is compared. Spark's part is in `spark.tutorials.e2e.ts`. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ensureBucket } from "../delta/store/s3.ts";
import { sharedBroker } from "./support/kafka.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";
import { firstDifference, parseTutorial, runTutorial } from "./support/tutorial.ts";
import { tutorialPythons } from "./support/tutorial-pythons.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "docs", "tutorials");

/** A folder that looks like the root of a clone to whoever types there. */
async function cloneFolder(t: TestContext): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "lab-tutorial-"));
  t.after(() => rm(cwd, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  for (const name of ["bin", "package.json"]) await symlink(join(root, name), join(cwd, name));
  return cwd;
}

async function follow(t: TestContext, name: string, env: NodeJS.ProcessEnv): Promise<void> {
  const cwd = await cloneFolder(t);
  const page = await readFile(join(folder, name), "utf8");
  const { differences } = await runTutorial(page, {
    ...{ cwd, pythons: tutorialPythons(cwd) },
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  assert.equal(differences.join("\n\n"), "", name);
}

/** An S3 server with the bucket of the page. */
async function storeWithBucket(signal: AbortSignal): Promise<NodeJS.ProcessEnv> {
  const s3 = await sharedS3();
  await ensureBucket("lab", s3, signal);
  return s3Env(s3);
}

/** What a page needs beside the others' broker: the first one starts the whole lab itself. */
const WHOLE_LAB = "five-minutes.md";
const ON_S3 = "other-engines.md";

test("the tutorials", { concurrency: 3, timeout: 600_000 }, async (t) => {
  const tutorials = (await readdir(folder)).filter((name) => name !== "README.md");
  assert.equal(tutorials.length, 10);
  const pages = [...tutorials, "../how-it-works.md"];
  const broker = { KAFKA_BROKERS: (await sharedBroker()).join(","), LAB_FLUSH_LATENCY: "1m" };
  await Promise.all(
    pages.map((name) => {
      const own = { KAFKA_BROKERS: "jvm", LAB_PORT: "0" };
      return t.test(name, async (t) => {
        const store = name === ON_S3 ? await storeWithBucket(t.signal) : {};
        return follow(t, name, name === WHOLE_LAB ? own : { ...broker, ...store });
      });
    }),
  );
});

test("every page is listed, and every page shows what its blocks print", async () => {
  const index = await readFile(join(folder, "README.md"), "utf8");
  for (const name of (await readdir(folder)).filter((one) => one !== "README.md")) {
    assert.ok(index.includes(`(${name})`), name);
    const blocks = parseTutorial(await readFile(join(folder, name), "utf8"));
    const shown = blocks.filter(({ kind }) => ["text", "numbers", "live", "stopped"].includes(kind));
    assert.ok(shown.length >= 3, name);
    // A page that shows only what stands for anything would prove nothing.
    for (const { body, line } of shown) assert.ok(/[^.\s]/.test(body), `${name}:${line}`);
  }
});

test("no two pages use one topic, as all run on one broker", async () => {
  const users = new Map<string, string[]>();
  for (const name of await readdir(folder)) {
    const page = await readFile(join(folder, name), "utf8");
    const topics = new Set(Array.from(page.matchAll(/--(?:to-)?topic ([\w.-]+)/g), ([, topic]) => topic!));
    for (const topic of topics) users.set(topic, [...(users.get(topic) ?? []), name]);
  }
  assert.ok(users.size >= 8);
  assert.deepEqual(
    [...users].filter(([, names]) => names.length > 1),
    [],
  );
});

test("a difference between what is shown and what is printed is found, and what may differ is not one", () => {
  const shown = "rows  time\n   4  2026-11-30 07:04:45Z\npid 7 on 127.0.0.1:9092, 2.4 KiB";
  assert.equal(
    firstDifference(shown, "rows time\n4 2027-01-01 00:00:00Z\npid 9 on localhost:1, 99 B\n"),
    null,
  );
  assert.match(
    firstDifference(shown, "rows time\n5 2027-01-01 00:00:00Z\n") ?? "",
    /^shown: 4 TIME\nprinted: 5 TIME/,
  );
  assert.match(firstDifference("a", "a\nb") ?? "", /^printed and not shown: b/);
  assert.match(firstDifference("a\nb", "a") ?? "", /nothing more/);
  assert.equal(firstDifference("...\nb", "a\nc\nb"), null);
  assert.equal(firstDifference("a\n...", "a\nc\nb"), null);
  assert.equal(firstDifference("x ... z", "x y z"), null);
  assert.match(firstDifference("...\nd", "a\nc\nb") ?? "", /^shown: d/);
  assert.equal(firstDifference("12 rows", "7 rows", true), null);
  assert.match(firstDifference("12 rows", "7 rows") ?? "", /^shown: 12 rows/);
});
