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
  const [python, jars] = [await interpreter(join(folder, "requirements.txt")), await deltaJars()];
  const { stdout } = await run(python, [join(folder, script), ...args], {
    env: { ...process.env, JARS: jars },
    maxBuffer: 256 << 20,
  });
  return stdout;
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
