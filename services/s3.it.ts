import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isLabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import { openStore } from "../delta/store/open.ts";
import { probePutIfAbsent } from "../delta/store/probe.ts";
import { ensureBucket } from "../delta/store/s3.ts";
import { dockerAnswers } from "./docker.ts";
import { canConnect } from "./ports.ts";
import { isAlive } from "./process-identity.ts";
import { bringUpS3, removeDockerObjects, type S3ServiceOptions } from "./s3.ts";

const { signal } = new AbortController();
const base = await mkdtemp(join(tmpdir(), "s3-service-"));
after(() => rm(base, { recursive: true }));

/** Where Docker answers, its rung is held to the same; `npm run test:compose` has one that always is. */
const hasDocker = (await dockerAnswers(signal)) !== null;

async function options(rung: "docker" | "go"): Promise<S3ServiceOptions> {
  const dataDir = await mkdtemp(join(base, "t-"));
  if (rung === "docker") after(() => removeDockerObjects(dataDir, signal));
  return { dataDir, port: 0, log: silentLog, signal, rungs: [rung] };
}

for (const rung of hasDocker ? (["go", "docker"] as const) : (["go"] as const)) {
  test(`${rung}: objects and keys outlive a restart, and closing ends the server`, async () => {
    const settings = await options(rung);
    const first = await bringUpS3(settings);
    assert.equal(first.rung, rung);
    await ensureBucket("lab", first, signal);
    await ensureBucket("lab", first, signal);
    const store = await openStore("s3://lab/t", { signal, s3: first });
    await probePutIfAbsent(store, signal);
    await store.put("x", new Uint8Array([1, 2]), signal);
    await store.close();
    await first.close();
    const port = Number(new URL(first.endpoint).port);
    assert.equal(await canConnect("127.0.0.1", port, 1000, signal), false);

    const second = await bringUpS3(settings);
    try {
      assert.equal(second.secretAccessKey, first.secretAccessKey);
      const again = await openStore("s3://lab/t", { signal, s3: second });
      assert.deepEqual([...(await again.get("x", signal))], [1, 2]);
      await again.close();
    } finally {
      await second.close();
    }
  });

  test(`${rung}: the server listens on loopback only, and its keys are for this user only`, async () => {
    const service = await bringUpS3(await options(rung));
    try {
      const port = Number(new URL(service.endpoint).port);
      const outside = Object.values(networkInterfaces())
        .flatMap((all) => all ?? [])
        .filter((one) => one.family === "IPv4" && !one.internal);
      for (const { address } of outside)
        assert.equal(await canConnect(address, port, 1000, signal), false, address);
      assert.equal((await stat(service.keysFile!)).mode & 0o777, 0o600);
      assert.equal(service.env.AWS_ENDPOINT_URL, service.endpoint);
    } finally {
      await service.close();
    }
  });

  test(`${rung}: a server whose starter is killed goes too, and the next start heals`, async () => {
    const settings = await options(rung);
    const script = fileURLToPath(new URL("../test/support/s3-child.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", script, settings.dataDir, rung], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { endpoint, pid } = JSON.parse(line.toString()) as { endpoint: string; pid: number | null };
    const port = Number(new URL(endpoint).port);
    assert.equal(await canConnect("127.0.0.1", port, 1000, signal), true);
    child.kill("SIGKILL");
    await once(child, "exit");
    const deadline = Date.now() + 30_000;
    while ((pid !== null && isAlive(pid)) || (await canConnect("127.0.0.1", port, 500, signal))) {
      assert.ok(
        Date.now() < deadline,
        `the server of the killed process still runs (pid ${pid}, port ${port})`,
      );
      await sleep(100, signal);
    }
    const next = await bringUpS3(settings);
    await next.close();
  });

  test(`${rung}: a taken port is PORT_TAKEN`, async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    try {
      const { port } = holder.address() as { port: number };
      const started = bringUpS3({ ...(await options(rung)), port });
      await assert.rejects(
        started,
        (error) => isLabError(error, "PORT_TAKEN") && /--s3-port/.test(error.hint ?? ""),
      );
    } finally {
      holder.close();
    }
  });
}

test("a server that ends at once is SERVICE_FAILED with its last words", async () => {
  const settings = await options("go");
  // MinIO refuses a root password this short.
  const { writeKeys } = await import("./minio-keys.ts");
  await writeKeys(settings.dataDir, { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "short" });
  await assert.rejects(bringUpS3(settings), (error) => {
    assert.ok(isLabError(error, "SERVICE_FAILED"));
    assert.match(JSON.stringify(error.details), /length/);
    return true;
  });
});

test("an endpoint that answers is used as it is, and left alone at the end", async () => {
  const server = await bringUpS3(await options("go"));
  try {
    const service = await bringUpS3({ ...(await options("go")), endpoint: server.endpoint });
    assert.equal(service.rung, "address");
    await service.close();
    assert.equal(await canConnect("127.0.0.1", Number(new URL(server.endpoint).port), 1000, signal), true);
  } finally {
    await server.close();
  }
});

test("an endpoint that does not answer is STORE_UNREACHABLE, and one that is no URL a wrong setting", async () => {
  const rest = { ...(await options("go")), connectTimeoutMs: 300 };
  await assert.rejects(bringUpS3({ ...rest, endpoint: "http://127.0.0.1:1" }), (error) =>
    isLabError(error, "STORE_UNREACHABLE"),
  );
  await assert.rejects(bringUpS3({ ...rest, endpoint: "127.0.0.1:9000" }), (error) =>
    isLabError(error, "CONFIG_INVALID"),
  );
});

test("with no rung that holds, the error lists the ways out", async () => {
  const path = process.env.PATH;
  process.env.PATH = base;
  try {
    const settings = await options("go");
    const started = bringUpS3({
      ...settings,
      rungs: ["docker", "go"],
      cacheDir: join(settings.dataDir, "cache"),
    });
    await assert.rejects(started, (error) => {
      assert.ok(isLabError(error, "SERVICE_UNAVAILABLE"));
      assert.match(error.message, /Docker.*Go/);
      assert.match(error.hint ?? "", /AWS_ENDPOINT_URL.*Docker.*Go/);
      return true;
    });
  } finally {
    process.env.PATH = path;
  }
});
