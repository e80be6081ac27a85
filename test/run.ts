/**
 * `npm test`: every test of the project in one run of node's test runner, beside the services that the tests share.
 *
 *   npm test                    everything
 *   npm test -- delta query     files whose path contains one of the words
 *   npm test -- --unit          only tests that need no service
 *   npm run test:spark          one of the suites that take longer to fetch than to run
 *
 * A program that is missing ends the run in CI; elsewhere the tests that need it are named and not run.
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromiumPath } from "../bench/chromium.ts";
import { silentLog } from "../core/log.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { bringUpS3 } from "../services/s3.ts";
import { testFilesIn } from "./support/test-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { unit: { type: "boolean", default: false }, suite: { type: "string" } },
});

/** Suites with scripts of their own: they need more than a fresh clone has. */
const SUITES = /^test\/(compose|conformance|kdi|spark)[./]/;

/** What a kind of test needs besides Node. */
const NEEDS: { kind: RegExp; programs: readonly string[] }[] = [
  { kind: /\.(it|e2e)\.ts$/, programs: ["java", "mvn", "go", "python3"] },
  { kind: /\.e2e\.ts$/, programs: [chromiumPath] },
];

function testFiles(): string[] {
  return testFilesIn(root, words)
    .filter((path) => SUITES.exec(path)?.[1] === flags.suite)
    .filter((path) => !flags.unit || path.endsWith(".test.ts"))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** Quick tests first: what is broken there explains what breaks later. */
const rank = (path: string) => [".test.ts", ".it.ts", ".e2e.ts"].findIndex((end) => path.endsWith(end));

const isThere = (program: string) =>
  program.startsWith("/")
    ? existsSync(program)
    : spawnSync("which", [program], { stdio: "ignore" }).status === 0;

/** Leaves out what cannot run here, and says so; in CI that is a failure. */
function runnable(files: readonly string[]): string[] {
  return files.filter((path) => {
    const missing = NEEDS.filter(({ kind }) => kind.test(path))
      .flatMap(({ programs }) => programs)
      .filter((program) => !isThere(program));
    if (missing.length === 0) return true;
    console.error(`not run: ${path}, ${missing.join(", ")} missing`);
    if (process.env.CI) process.exitCode = 1;
    return false;
  });
}

/** One broker and one S3 server for all files; tests use topics and buckets of their own. */
async function withServices(run: (env: NodeJS.ProcessEnv) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "lab-test-"));
  const closing: (() => Promise<void>)[] = [];
  const signal = new AbortController().signal;
  try {
    const common = { log: silentLog, signal, port: 0 };
    const kafka = await bringUpKafka({
      ...common,
      choice: process.env.LAB_TEST_KAFKA ?? "jvm",
      dataDir: join(folder, "kafka"),
    });
    closing.push(() => kafka.close());
    const s3 = await bringUpS3({ ...common, dataDir: join(folder, "s3") });
    closing.push(() => s3.close());
    return await run({
      LAB_TEST_KAFKA: kafka.brokers.join(","),
      LAB_TEST_S3: s3.endpoint,
      LAB_TEST_S3_KEY: s3.accessKeyId,
      LAB_TEST_S3_SECRET: s3.secretAccessKey,
    });
  } finally {
    for (const close of closing.reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function runNode(files: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flags = [
    "--import",
    "tsx",
    ...(process.env.LAB_PROPERTY_SEED ? ["--import", "./test/property-seed.ts"] : []),
    "--test",
    "--test-concurrency=2",
    "--test-timeout=900000",
    "--test-reporter=spec",
  ];
  const child = spawn(process.execPath, [...flags, ...files], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  return new Promise((resolve) => child.once("close", (status) => resolve(status ?? 1)));
}

const files = runnable(testFiles());
if (files.length === 0) {
  console.error("no test file matches");
  process.exitCode = 1;
} else {
  const needsServices = flags.suite !== "compose" && files.some((path) => !path.endsWith(".test.ts"));
  const status = needsServices ? await withServices((env) => runNode(files, env)) : await runNode(files, {});
  process.exitCode ||= status;
}
