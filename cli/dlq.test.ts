import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { type DlqFixture, dlqFixture } from "../test/support/dlq-fixture.ts";
import { bytesLines } from "./dlq-print.ts";
import { offsetSpan } from "./dlq-settings.ts";
import { runLab } from "./lab.ts";

async function lab(...argv: string[]): Promise<{ status: number; out: string; err: string }> {
  const written = { out: "", err: "" };
  const into = (key: "out" | "err") =>
    ({ write: (piece: string) => (written[key] += piece) }) as unknown as NodeJS.WriteStream;
  const env = { NO_COLOR: "1", PATH: process.env.PATH };
  const status = await runLab({
    argv,
    env,
    stdin: Readable.from([]),
    stdout: into("out"),
    stderr: into("err"),
  });
  return { status, ...written };
}

const text = (value: string) => ({ key: "k", value, timestampMs: 1_700_000_000_000 });
const nullable = (name: string, type: "long" | "double") => ({ name, type, nullable: true, metadata: {} });
const fields = [nullable("id", "long"), nullable("amount", "double")];

/** Offset 0 is a row; 1 has a wrong type, 2 is no JSON, 3 has a terminal's commands in it. */
async function threeLetters(t: TestContext): Promise<DlqFixture & { args: string[] }> {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [
    text('{"id":0,"amount":1}'),
    { ...text('{"id":1,"amount":"2 EUR"}'), headers: { origin: "shop" } },
    text("{broken"),
    text("\u001b[2J{"),
  ]);
  await fixture.start({ once: true, schema: { type: "struct", fields } }).ended;
  return { ...fixture, args: [fixture.tableUri, "--scratch", join(fixture.folder, "scratch")] };
}

test("letters as a list, as counts of each kind, and as JSON", async (t) => {
  const { args } = await threeLetters(t);
  const listed = await lab("dlq", "list", ...args);
  assert.equal(listed.status, 0, listed.err);
  const lines = listed.out.trimEnd().split("\n");
  assert.match(lines[0]!, /^record +since +attempt +stage +code +message$/);
  assert.match(lines[1]!, /^t-0:1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +1 +schema +WRONG_TYPE +.*amount/);
  assert.equal(lines.length, 4);
  const kinds = await lab("dlq", "list", ...args, "--summary");
  assert.match(kinds.out, /^ +2 +t +decode +MALFORMED_JSON +open\n +1 +t +schema +WRONG_TYPE +open$/m);
  const json = JSON.parse((await lab("dlq", "list", ...args, "--code", "WRONG_TYPE", "--json")).out);
  const { firstAt, lastAt, message, ...rest } = json[0];
  assert.equal(firstAt, lastAt);
  assert.match(message, /amount/);
  assert.deepEqual(rest, {
    topic: "t",
    partition: 0,
    offset: "1",
    timestamp: "2023-11-14T22:13:20.000000Z",
    stage: "schema",
    code: "WRONG_TYPE",
    attempt: 1,
    state: "open",
    version: null,
    stateAt: null,
  });
  const some = await lab("dlq", "list", ...args, "--limit", "1");
  assert.match(some.err, /^\+2 more/);
});

test("each filter, and several at once", async (t) => {
  const { args } = await threeLetters(t);
  const offsets = async (...flags: string[]) =>
    JSON.parse((await lab("dlq", "list", ...args, "--json", ...flags)).out).map((one: { offset: string }) =>
      Number(one.offset),
    );
  assert.deepEqual(await offsets(), [1, 2, 3]);
  assert.deepEqual(await offsets("--stage", "decode"), [2, 3]);
  assert.deepEqual(await offsets("--offset", "2-9", "--stage", "decode,schema", "--limit", "1"), [2]);
  assert.deepEqual(await offsets("--offset", "1", "--offset", "0:3"), [1, 3]);
  assert.deepEqual(await offsets("--offset", "1:0-99"), []);
  assert.deepEqual(await offsets("--partition", "0", "--topic", "t"), [1, 2, 3]);
  assert.deepEqual(await offsets("--topic", "it's another"), []);
  assert.deepEqual(await offsets("--until", "2020-01-01"), []);
  assert.deepEqual(await offsets("--since", "2020-01-01"), [1, 2, 3]);
});

test("a letter with its content; a terminal does not obey it", async (t) => {
  const { args } = await threeLetters(t);
  const shown = await lab("dlq", "show", args[0]!, "0:1");
  assert.match(shown.out, /^t-0 offset 1\nstate {4}open\nerror {4}.*\(schema, WRONG_TYPE\)\nattempt {2}1,/);
  assert.match(
    shown.out,
    /\nkey {6}k\nheader {3}origin: shop\nvalue {4}25 B\n\{"id":1,"amount":"2 EUR"\}\n$/,
  );
  const nasty = await lab("dlq", "show", args[0]!, "0:3");
  assert.match(nasty.out, /\n\\x1b\[2J\{\n$/);
  const [json] = JSON.parse((await lab("dlq", "show", args[0]!, "0:3", "--json")).out);
  assert.equal(Buffer.from(json.value, "base64").toString(), "\u001b[2J{");
  const none = await lab("dlq", "show", args[0]!, "0:0");
  assert.deepEqual([none.status, /LETTER_NOT_FOUND/.test(none.err)], [2, true]);
  assert.match(none.err, /lab dlq list \S+ --all lists every letter/);
});

test("nothing is replayed or dropped that nobody chose, and it is said how many that would be", async (t) => {
  const { args } = await threeLetters(t);
  for (const verb of ["replay", "drop"]) {
    const { status, err } = await lab("dlq", verb, ...args);
    assert.equal(status, 2);
    assert.match(err, new RegExp(`which of 3 letters to ${verb} \\(USAGE\\)\\n {2}fix: give --all`));
  }
  assert.match((await lab("dlq", "drop", ...args, "--all", "--dry-run")).out, /3 letters would be dropped/);
  assert.match((await lab("dlq", "drop", ...args, "--limit", "1")).out, /: 1 letter dropped$/m);
});

test("a transform from a file, and what is still bad", async (t) => {
  const { args, folder } = await threeLetters(t);
  const file = join(folder, "fixed.sql");
  await writeFile(
    file,
    "SELECT * REPLACE (CAST(replace(amount, ' EUR', '') AS DOUBLE) AS amount) FROM messages -- ok",
  );
  const dry = await lab("dlq", "replay", ...args, "--all", "--transform", file, "--dry-run");
  assert.match(dry.out, /^table: 1 letter would be replayed as 1 row; 2 still bad\n/);
  const { out, status } = await lab("dlq", "replay", ...args, "--all", "--transform", file);
  assert.equal(status, 0);
  assert.match(
    out,
    /^table: 1 letter replayed as 1 row, version 2; 2 still bad\n.*\n +2 +decode +MALFORMED_JSON/,
  );
  const all = await lab("dlq", "list", ...args, "--all");
  assert.match(all.out, /^t-0:1 .* replayed /m);
  assert.match(all.out, /^t-0:2 +\S+ \S+ +2 +decode /m);
  assert.match((await lab("dlq", "show", args[0]!, "0:1")).out, /\nstate {4}replayed in version 2, 20/);
  for (const suffix of ["", "__dead_letters", "__dead_letters_state"]) {
    const verified = await lab("verify", `${args[0]}${suffix}`);
    assert.equal(verified.status, 0, verified.out + verified.err);
  }
});

test("the transform of the stream in lab.yaml, where that brings the topic to this table", async (t) => {
  const { args, folder, tableUri } = await threeLetters(t);
  const config = join(folder, "lab.yaml");
  const transform = "SELECT id, CAST(9 AS DOUBLE) AS amount, _kafka FROM messages";
  const streams = [
    { topic: "t", table: "elsewhere", transform: "SELECT 1" },
    { topic: "t", table: tableUri, transform },
  ];
  await writeFile(config, JSON.stringify({ streams }));
  const { out, err } = await lab("dlq", "replay", ...args, "--code", "WRONG_TYPE", "--config", config);
  assert.match(out, /: 1 letter replayed as 1 row/, err);
});

test("messages in another format than the stream was told", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [
    text('{"id":0,"amount":1}'),
    text('{"id":1,"amount":1}\n{"id":2,"amount":2}'),
  ]);
  await fixture.start({ once: true, schema: { type: "struct", fields } }).ended;
  const args = [fixture.tableUri, "--scratch", join(fixture.folder, "scratch"), "--all"];
  assert.match((await lab("dlq", "replay", ...args)).out, /1 still bad/);
  const { out, err } = await lab("dlq", "replay", ...args, "--format", "ndjson");
  assert.match(out, /: 1 letter replayed as 2 rows, version 2$/m, err);
  assert.equal((await fixture.rows("SELECT DISTINCT id FROM t")).length, 3);
});

test("wrong words are named", async (t) => {
  const { args } = await threeLetters(t);
  for (const [argv, says] of [
    [["lst", ...args], /cannot lst.*\n.*did you mean list/],
    [["show", args[0]!], /which letter/],
    [["show", args[0]!, "17"], /17 is no PARTITION:OFFSET/],
    [["drop", ...args, "--transform", "SELECT 1"], /drop does not take --transform/],
    [["list", ...args, "--dry-run"], /list does not take --dry-run/],
    [["list", ...args, "--offset", "9-3"], /ends before it begins/],
    [["list", ...args, "--stage", "decoding"], /decoding/],
    [["list", ...args, "--since", "soon"], /soon/],
  ] as const) {
    const { status, err } = await lab("dlq", ...argv);
    assert.equal(status, 2, err);
    assert.match(err, says);
  }
  const none = await lab("dlq", "list", "orders", "--store", join(args[2]!, "nothing"));
  assert.match(none.err, /TABLE_NOT_FOUND/);
});

test("offsets: one, a range, and those of a partition", () => {
  assert.deepEqual(offsetSpan.parse("17"), { partition: null, first: 17n, last: 17n });
  assert.deepEqual(offsetSpan.parse("0-99"), { partition: null, first: 0n, last: 99n });
  assert.deepEqual(offsetSpan.parse("2:9007199254740993-9007199254740994"), {
    partition: 2,
    first: 9007199254740993n,
    last: 9007199254740994n,
  });
});

test("bytes that are no text are dumped, and long ones cut", () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, n) => (n === 0 ? 0xff : 0x41 + n));
  assert.deepEqual(bytesLines(bytes), [
    "00000000  ff 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  .BCDEFGHIJKLMNOP",
    "00000010  51 52                                            QR",
  ]);
  const long = bytesLines(Buffer.from("ä".repeat(3000)));
  assert.deepEqual([long[0]!.length, long[1]], [2048, "+1.9 KiB more: --json has them all"]);
});

test("a code that no letter can have is refused by every action, with the near one", async () => {
  for (const action of [["list"], ["show"], ["replay"], ["drop"]]) {
    const { status, err } = await lab("dlq", ...action, "orders", "--code", "WRONG_TIPE");
    assert.equal(status, 2);
    assert.match(err, /^error: --code: "WRONG_TIPE" is no code .* did you mean WRONG_TYPE\? \(USAGE\)$/m);
  }
  assert.match((await lab("dlq", "list", "orders", "--code", "42")).err, /docs\/formats\.md lists them/);
});
