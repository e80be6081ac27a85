/** The package as others use it: packed from what is tracked, installed by npm into an empty folder, its examples run, its types checked. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { kafkaField } from "../engine/kafka-column.ts";
import { sqlTable } from "./support/sql-table.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const exec = promisify(execFile);
const run = async (command: string, args: readonly string[], cwd: string): Promise<string> => {
  const options = { cwd, maxBuffer: 64 << 20, env: { ...process.env, NO_COLOR: "1" } };
  // Compilers say on stdout what is wrong.
  const failed = (error: { message: string; stdout?: string }) =>
    assert.fail(`${error.message}\n${error.stdout ?? ""}`);
  return (await exec(command, args, options).catch(failed)).stdout;
};

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

/** As a user installs it into an empty folder, no script of any package run; what npm has in its cache it need not fetch. */
async function install(file: string, folder: string): Promise<string> {
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  await run("npm", ["install", file, ...quietly], folder);
  return join(folder, "node_modules", "delta-stream-lab");
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

/** Two records in version 1, of which version 2 takes the first. */
async function clicksTable(folder: string): Promise<void> {
  const kafka = kafkaField(false).type;
  const { append } = await sqlTable(join(folder, "lab-data", "tables", "clicks"), {
    page: "string",
    _kafka: kafka,
  });
  const click = (offset: number, page: string) =>
    `SELECT '${page}' AS page, {'topic': 'clicks', 'partition': 0, 'offset': ${offset}::BIGINT, 'timestamp': make_timestamptz(${offset}), 'generation': 0} AS _kafka`;
  const add = await append({ select: `${click(0, "/")} UNION ALL ${click(1, "/a")}` });
  await append({ select: click(1, "/a"), removes: [add!], operation: "DELETE" });
}

const TYPED = `
import { type At, type DeltaTable, LabError, openTable, type Row } from "delta-stream-lab";
const at: At = { version: 1 };
const table: DeltaTable = await openTable("./lab-data/tables/orders", { name: "o" });
const rows: Row[] = await table.query("SELECT * FROM o", at);
for await (const { version, offsets } of table.history()) console.log(version, offsets[0]?.topic);
for await (const { records, position } of table.records({ follow: false }))
  await table.hybridRecords({ topic: "t", kafka: { brokers: [String(records[0]?.offset)] }, from: { position } });
// @ts-expect-error a version is a number
await table.query("SELECT * FROM o", { version: "1" });
console.log(rows, new LabError("USAGE", "x").code);
`;

test("the package is packed, installed into an empty folder, used from there, and has types", {
  timeout: 600_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-package-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = await packed(folder);
  const home = join(folder, "empty");
  await mkdir(home);
  const own = await install(file, home);
  await ordersTable(home);
  await clicksTable(home);

  await t.test("what was installed is what the package says it needs, and nothing of it ran", async () => {
    const { dependencies } = JSON.parse(await readFile(join(own, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    for (const [name, wanted] of Object.entries(dependencies)) {
      const manifest = join(home, "node_modules", name, "package.json");
      assert.equal(JSON.parse(await readFile(manifest, "utf8")).version, wanted, name);
    }
    // Only those who work on the lab have it.
    assert.equal(existsSync(join(home, "node_modules", "typescript")), false);
  });

  await t.test("every example of docs/api.md runs", async () => {
    const page = await readFile(join(root, "docs", "api.md"), "utf8");
    const examples = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code!);
    assert.equal(examples.length, 5);
    const printed: string[] = [];
    for (const code of examples) {
      await writeFile(join(home, "example.mjs"), code);
      printed.push(await run(process.execPath, ["example.mjs"], home));
    }
    const [asked, offsets, followed, streamed, refused] = printed;
    assert.match(asked!, /status: 'paid', n: '2'.*status: 'shipped', n: '2'/s);
    assert.match(asked!, /\[ \{ n: '2' \} \]/);
    assert.match(offsets!, /^2 .* orders-0 2\.\.3\n1 .* orders-0 0\.\.1\n0 /);
    assert.equal(followed, "1 2\n2 2\n");
    assert.equal(streamed, 'insert 0 0n {"page":"/"}\ninsert 0 1n {"page":"/a"}\ndelete 0 0n {"page":"/"}\n');
    assert.equal(refused, "NOT_A_TABLE\n");
  });

  await t.test("a TypeScript program sees what each thing is", async () => {
    await writeFile(join(home, "typed.ts"), TYPED);
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
    await run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), ...options], home);
  });

  await t.test("the command comes with it, and nothing of the tests", async () => {
    const program = join(own, "bin", "lab.js");
    assert.match(await run(process.execPath, [program, "--version"], home), /^\d+\.\d+\.\d+\n$/);
    const rows = JSON.parse(
      await run(process.execPath, [program, "query", "SELECT count(*) AS n FROM orders", "--json"], home),
    );
    assert.deepEqual(rows, [{ n: "4" }]);
    const files = await run("find", [own, "-name", "*.test.*"], home);
    assert.equal(files, "");
  });
});
