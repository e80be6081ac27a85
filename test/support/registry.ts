/**
 * A real schema registry for tests: Apicurio Registry, which speaks Confluent's API below /apis/ccompat/v7, with its storage in memory. Fetched
 * once from Maven Central into the user's cache, some 110 MB; up within seconds.
 */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { cacheFolder } from "../../core/cache-folder.ts";
import { spawnGuarded } from "../../services/guard.ts";
import { freePort } from "../../services/ports.ts";
import { runReferee } from "./python.ts";
import { until } from "./until.ts";

/** The newest that runs on Java 17. */
const APICURIO = "3.0.9";

export type TestRegistry = {
  /** Root of the API, as users would give it. */
  url: string;
  /** Registers a schema under a subject; its id. `type` is AVRO, PROTOBUF or JSON. */
  register(
    subject: string,
    text: string,
    options?: { type?: string; references?: { name: string; subject: string; version: number }[] },
  ): Promise<number>;
};

let shared: Promise<TestRegistry> | undefined;
let closeShared = async () => {};
// Here, outside of any test: a hook that is set inside one runs when that one ends.
after(() => closeShared());

/** The registry that the tests of this file share; use subjects of your own. */
export function sharedRegistry(): Promise<TestRegistry> {
  shared ??= start();
  return shared;
}

async function start(): Promise<TestRegistry> {
  const jar = join(await fetched(), `apicurio-registry-app-${APICURIO}-runner.jar`);
  const folder = await mkdtemp(join(tmpdir(), "lab-registry-"));
  const port = await freePort();
  const logFile = join(folder, "registry.log");
  const child = spawnGuarded({
    command: "java",
    args: [
      "-Xmx384m",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Dquarkus.http.host=127.0.0.1",
      `-Dquarkus.http.port=${port}`,
      "-Dquarkus.http.access-log.enabled=false",
      `-Djava.io.tmpdir=${folder}`,
      "-jar",
      jar,
    ],
    cwd: folder,
    logFile,
  });
  closeShared = async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
  let hasEnded = false;
  void child.exited.then(() => {
    hasEnded = true;
  });
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  await until(
    "the schema registry",
    async () => {
      if (hasEnded) throw new Error(`it ended: ${(await readFile(logFile, "utf8")).slice(-2000)}`);
      return (await fetch(`${url}/subjects`)).ok;
    },
    { deadlineMs: 90_000, everyMs: 250 },
  );
  return { url, register: (...args) => register(url, ...args) };
}

async function register(
  url: string,
  subject: string,
  text: string,
  options: { type?: string; references?: { name: string; subject: string; version: number }[] } = {},
): Promise<number> {
  const response = await fetch(`${url}/subjects/${encodeURIComponent(subject)}/versions`, {
    method: "POST",
    headers: { "content-type": "application/vnd.schemaregistry.v1+json" },
    body: JSON.stringify({ schema: text, schemaType: options.type, references: options.references }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`the registry answered ${response.status}: ${body}`);
  return (JSON.parse(body) as { id: number }).id;
}

/** The folder of the unpacked program. Made by one of the test files that want it at once: the first to rename wins. */
async function fetched(): Promise<string> {
  const folder = join(cacheFolder(), `apicurio-${APICURIO}`);
  if (existsSync(folder)) return folder;
  await mkdir(cacheFolder(), { recursive: true });
  const temporary = await mkdtemp(`${folder}.fetching-`);
  try {
    const artifact = `io.apicurio:apicurio-registry-app:${APICURIO}:tar.gz:all`;
    await runReferee("mvn", [
      "-B",
      "-q",
      "dependency:copy",
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${temporary}`,
    ]);
    const archive = join(temporary, `apicurio-registry-app-${APICURIO}-all.tar.gz`);
    await runReferee("tar", ["xzf", archive, "-C", temporary]);
    await rm(archive);
    await rename(temporary, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}
