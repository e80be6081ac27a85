/** The Java and Maven of this machine, as far as a Kafka broker needs them. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

export const LEAST_JAVA = 17;

export type Java = { command: string; major: number; version: string };

/** The `java` of JAVA_HOME, or of the PATH; null where none runs. It may be older than what is needed. */
export async function findJava(
  signal: AbortSignal,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Java | null> {
  const candidates = env.JAVA_HOME ? [join(env.JAVA_HOME, "bin", "java"), "java"] : ["java"];
  for (const command of candidates) {
    const printed = await run(command, ["-version"], signal);
    const version = printed?.match(/version "([^"]+)"/)?.[1];
    if (version !== undefined) return { command, version, major: javaMajor(version) };
  }
  return null;
}

/** 17 for "17.0.15", 8 for "1.8.0_402", 25 for "25-ea". */
export function javaMajor(version: string): number {
  const [first, second] = version.split(/[._-]/).map(Number);
  return first === 1 ? (second ?? 0) : (first ?? 0);
}

/** Maven's version, or null where `mvn` does not run. */
export async function findMaven(signal: AbortSignal): Promise<string | null> {
  const printed = await run("mvn", ["-B", "-version"], signal);
  return printed?.match(/Apache Maven (\S+)/)?.[1] ?? null;
}

async function run(command: string, args: string[], signal: AbortSignal): Promise<string | null> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { signal, timeout: 30_000 });
    return stdout + stderr;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
