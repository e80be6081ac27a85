/** The package as others use it: packed from what is tracked, put into an empty folder, its examples run, its types checked. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sqlTable } from "./support/sql-table.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const exec = promisify(execFile);
const run = async (command: string, args: readonly string[], cwd: string) =>
  (await exec(command, args, { cwd, maxBuffer: 64 << 20, env: { ...process.env, NO_COLOR: "1" } })).stdout;

/** Builds and packs a copy of the sources, so that nothing of this folder's own state gets in; gives the package's file. */
async function packed(folder: string): Promise<string> {
  const clone = join(folder, "clone");
  const files = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], root);
  for (const path of files.split("\0").filter((one) => one !== "" && !one.startsWith("test/"))) {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    // A file that was removed and not yet committed is listed, and is not there.
    await cp(join(root, path), join(clone, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  await run("npm", ["run", "build"], clone);
  const [report] = JSON.parse(await run("npm", ["pack", "--json", "--pack-destination", folder], clone)) as [
    { filename: string },
  ];
  return join(folder, report.filename);
}

/** What an install would bring: the package, and of this checkout's packages those alone that it depends on. */
async function install(file: string, folder: string): Promise<string> {
  const modules = join(folder, "node_modules");
  const own = join(modules, "delta-stream-lab");
  await mkdir(own, { recursive: true });
  await run("tar", ["xzf", file, "-C", own, "--strip-components=1"], folder);
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  for (const [path, { dev, devOptional }] of Object.entries(lock.packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || dev || devOptional) continue;
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
  return own;
}

/** Versions 1 and 2 of a table such as the examples ask, with the offsets of an ingester's commits. */
async function ordersTable(folder: string): Promise<void> {
  const { append } = await sqlTable(join(folder, "lab-data", "tables", "orders"), {
    id: "long",
    status: "string",
  });
  for (const [n, status] of ["paid", "shipped"].entries()) {
    const settled = {
      topic: "orders",
      partition: 0,
      first: String(n * 2),
      last: String(n * 2 + 1),
      rows: "2",
      letters: "0",
      skipped: "0",
    };
    await append({
      select: `SELECT range::BIGINT AS id, '${status}' AS status FROM range(${n * 2}, ${n * 2 + 2})`,
      info: { lab: { v: 1, app: "lab", generation: 0, partitions: [settled] } },
    });
  }
}

const TYPED = `
import { type At, type DeltaTable, LabError, openTable, type Row } from "delta-stream-lab";
const at: At = { version: 1 };
const table: DeltaTable = await openTable("./lab-data/tables/orders", { name: "o" });
const rows: Row[] = await table.query("SELECT * FROM o", at);
for await (const { version, offsets } of table.history()) console.log(version, offsets[0]?.topic);
// @ts-expect-error a version is a number
await table.query("SELECT * FROM o", { version: "1" });
console.log(rows, new LabError("USAGE", "x").code);
`;

test("the package is packed, used from an empty folder, and has types", { timeout: 600_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-package-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const own = await install(await packed(folder), folder);
  await ordersTable(folder);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');

  await t.test("every example of docs/api.md runs", async () => {
    const page = await readFile(join(root, "docs", "api.md"), "utf8");
    const examples = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code!);
    assert.equal(examples.length, 4);
    const printed: string[] = [];
    for (const code of examples) {
      await writeFile(join(folder, "example.mjs"), code);
      printed.push(await run(process.execPath, ["example.mjs"], folder));
    }
    const [asked, offsets, followed, refused] = printed;
    assert.match(asked!, /status: 'paid', n: '2'.*status: 'shipped', n: '2'/s);
    assert.match(asked!, /\[ \{ n: '2' \} \]/);
    assert.match(offsets!, /^2 .* orders-0 2\.\.3\n1 .* orders-0 0\.\.1\n0 /);
    assert.equal(followed, "1 2\n2 2\n");
    assert.equal(refused, "NOT_A_TABLE\n");
  });

  await t.test("a TypeScript program sees what each thing is", async () => {
    await writeFile(join(folder, "typed.ts"), TYPED);
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--types",
      "",
      "--skipLibCheck",
      "typed.ts",
    ];
    await run(
      process.execPath,
      [join(root, "node_modules", "typescript", "bin", "tsc"), ...options],
      folder,
    ).catch((error: { stdout?: string }) => assert.fail(error.stdout ?? String(error)));
  });

  await t.test("the command comes with it, and nothing of the tests", async () => {
    const program = join(own, "bin", "lab.js");
    assert.match(await run(process.execPath, [program, "--version"], folder), /^\d+\.\d+\.\d+\n$/);
    const rows = JSON.parse(
      await run(process.execPath, [program, "query", "SELECT count(*) AS n FROM orders", "--json"], folder),
    );
    assert.deepEqual(rows, [{ n: "4" }]);
    const files = await run("find", [own, "-name", "*.test.*"], folder);
    assert.equal(files, "");
  });
});
