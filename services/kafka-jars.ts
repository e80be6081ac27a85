/** The jars of a Kafka broker: fetched once from Maven Central into the user's cache folder. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { asLabError, LabError } from "../core/errors.ts";
import { findMaven } from "./java.ts";

export const KAFKA_VERSION = "4.1.1";

const POM = fileURLToPath(new URL("./kafka-jars/pom.xml", import.meta.url));

/** Folder of the cached jars, whether it exists or not. */
export function jarsFolder(cacheDir: string): string {
  return join(cacheDir, `kafka-${KAFKA_VERSION}`);
}

export async function hasJars(cacheDir: string): Promise<boolean> {
  return (await stat(jarsFolder(cacheDir)).catch(() => null)) !== null;
}

/**
 * The class path of a broker, in an order that never changes, as the JVM's class archive wants it.
 *
 * Jars are fetched into a folder of their own and renamed into place when all are there, so that two who start at once, or one that
 * is killed half-way, leave a whole folder or none. SERVICE_UNAVAILABLE without Maven, SERVICE_FAILED when the download fails.
 */
export async function kafkaClassPath(options: {
  cacheDir: string;
  say: (line: string) => void;
  signal: AbortSignal;
}): Promise<string> {
  const { cacheDir, say, signal } = options;
  const folder = jarsFolder(cacheDir);
  if (!(await hasJars(cacheDir))) {
    if ((await findMaven(signal)) === null) {
      throw new LabError(
        "SERVICE_UNAVAILABLE",
        "Maven is needed once, to fetch Kafka's jars, and mvn does not run",
        {
          hint: "install Maven, or give a broker with --kafka HOST:PORT",
        },
      );
    }
    say(`fetching Apache Kafka ${KAFKA_VERSION} from Maven Central, once, into ${folder}`);
    await fetchJars(cacheDir, folder, signal);
  }
  const jars = (await readdir(folder)).filter((name) => name.endsWith(".jar")).sort();
  return jars.map((name) => join(folder, name)).join(":");
}

async function fetchJars(cacheDir: string, folder: string, signal: AbortSignal): Promise<void> {
  await mkdir(cacheDir, { recursive: true });
  const temporary = await mkdtemp(`${folder}.fetching-`);
  try {
    const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${temporary}`];
    await promisify(execFile)("mvn", ["-B", "-q", "-C", "-f", POM, ...goal], {
      signal,
      maxBuffer: 64 * 1024 * 1024,
    });
    await renameUnlessThere(temporary, folder);
  } catch (error) {
    signal.throwIfAborted();
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    const lines = `${stdout ?? ""}${stderr ?? ""}`.split("\n").filter((line) => line.includes("ERROR"));
    throw new LabError("SERVICE_FAILED", "Maven could not fetch Kafka's jars", {
      hint: "check the network and Maven's settings, or give a broker with --kafka HOST:PORT",
      details: { log: lines.length > 0 ? lines.slice(0, 5) : [asLabError(error).message] },
      cause: error,
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Whoever renames first wins; the other's copy is the same. */
async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

/** Where the JVM's archive of loaded classes is kept: it belongs to one build of Java and these jars. */
export function classArchive(cacheDir: string, javaVersion: string): string {
  return join(jarsFolder(cacheDir), `java-${javaVersion.replace(/[^\w.+-]/g, "_")}.jsa`);
}
