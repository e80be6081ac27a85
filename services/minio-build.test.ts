import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { buildMinio, builtMinio, MINIO_VERSION } from "./minio-build.ts";

const { signal } = new AbortController();
const base = await mkdtemp(join(tmpdir(), "minio-build-"));
after(() => rm(base, { recursive: true }));

/** A `go` that does what a shell script says, and an empty cache folder. */
async function fakeGo(script: string) {
  const folder = await mkdtemp(join(base, "t-"));
  const go = join(folder, "go");
  await writeFile(go, `#!/bin/sh\n${script}\n`);
  await chmod(go, 0o755);
  const said: string[] = [];
  return { go, cacheDir: join(folder, "cache"), said, say: (line: string) => void said.push(line) };
}

test("a build leaves the program in the cache, where the next run finds it, and tells its progress", async () => {
  const fake = await fakeGo(
    'echo pkg/a >&2; echo pkg/b >&2; sleep 0.3; echo "$*" > "$GOBIN/minio"; chmod +x "$GOBIN/minio"',
  );
  assert.equal(await builtMinio(fake.cacheDir), null);
  const program = await buildMinio({ ...fake, signal, progressMs: 100 });
  assert.equal(await builtMinio(fake.cacheDir), program);
  assert.match(
    await readFile(program, "utf8"),
    new RegExp(`^install .*github.com/minio/minio@${MINIO_VERSION}`),
  );
  assert.match(fake.said.join("\n"), /minutes\n.*2 packages/);
  assert.deepEqual(await readdir(fake.cacheDir), [`minio-${MINIO_VERSION}`]);
});

test("a build that fails says the compiler's last words and leaves nothing", async () => {
  const fake = await fakeGo('echo "go: no route to the module proxy" >&2; exit 1');
  await assert.rejects(buildMinio({ ...fake, signal }), (error) => {
    assert.ok(isLabError(error, "SERVICE_FAILED"));
    assert.match(error.message, /no route to the module proxy/);
    return true;
  });
  assert.deepEqual(await readdir(fake.cacheDir), []);
});

test("a build that is cut short leaves nothing a later run could take for the program", async () => {
  const fake = await fakeGo('echo half > "$GOBIN/minio"; chmod +x "$GOBIN/minio"; exec sleep 30');
  const stop = new AbortController();
  const building = buildMinio({ ...fake, signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 300);
  await assert.rejects(building, /enough/);
  assert.equal(await builtMinio(fake.cacheDir), null);
  assert.deepEqual(await readdir(fake.cacheDir), []);
});
