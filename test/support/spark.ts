/** Spark with Delta Lake, from PyPI and Maven Central into the user's cache: a reader that is not ours, and slow to fetch. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../core/cache-folder.ts";
import { interpreter } from "./python.ts";

const folder = fileURLToPath(new URL("../referees/spark/", import.meta.url));
const run = promisify(execFile);

/** Runs a script of `test/referees/spark/` with pyspark; resolves with its stdout. */
export async function spark(script: string, args: readonly string[]): Promise<string> {
  const { command, args: all, env } = await sparkCommand(script, args);
  const { stdout } = await run(command, all, { env, maxBuffer: 256 << 20 });
  return stdout;
}

/** How such a script is run, for tests that talk to it while it runs. */
export async function sparkCommand(
  script: string,
  args: readonly string[],
): Promise<{ command: string; args: string[]; env: NodeJS.ProcessEnv }> {
  const [command, jars] = [await interpreter(join(folder, "requirements.txt")), await deltaJars()];
  return { command, args: [join(folder, script), ...args], env: { ...process.env, JARS: jars } };
}

/** Spark in a process of its own that does one thing to a table at a time, as `turns.py` says. It ends with the test. */
export async function startSpark(t: TestContext, table: string) {
  const { command, args, env } = await sparkCommand("turns.py", [table]);
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(child, "close");
  // Its virtual machine ends with its script only: a kill of that would leave it behind.
  t.after(() => {
    child.stdin.end();
    return ended;
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<unknown> => {
    const { value, done } = await answers.next();
    if (done) throw new Error("Spark ended");
    return JSON.parse(value);
  };
  const first = await answer();
  if (first !== "ready") throw new Error(`Spark said ${JSON.stringify(first)} before its first turn`);
  return (turn: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(turn)}\n`);
    return answer();
  };
}

async function deltaJars(): Promise<string> {
  const jars = join(cacheFolder(), "spark-referee-delta-4.1.0");
  if (existsSync(jars)) return jars;
  const temporary = `${jars}.${process.pid}`;
  await mkdir(temporary, { recursive: true });
  const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${temporary}`];
  await run("mvn", ["-B", "-q", "-f", join(folder, "pom.xml"), ...goal]);
  await rename(temporary, jars).catch(() => rm(temporary, { recursive: true, force: true }));
  return jars;
}
