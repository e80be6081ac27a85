/** Spark with Delta Lake, from PyPI and Maven Central into the user's cache: a reader that is not ours, and slow to fetch. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
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
