import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { cellJson } from "./file.ts";
import { keyFrom } from "./key.ts";
import { order } from "./orders.ts";
import type { Message } from "./source.ts";
import { findSource } from "./sources.ts";

const { signal } = new AbortController();

async function* piped(...chunks: string[]): AsyncIterable<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function take(
  word: string,
  count: number,
  from = 0,
  stdin: AsyncIterable<Buffer> = piped(),
): Promise<string[][]> {
  const source = findSource(word, { seed: 7, now: () => Date.UTC(2026, 0, 2), stdin });
  const taken: Message[] = [];
  for await (const message of source.messages(from, signal)) {
    if (taken.length === count) break;
    taken.push(message);
    if (taken.length === count) break;
  }
  return taken.map(({ key, value }) => [String(key), String(value)]);
}

async function fileOf(t: TestContext, name: string, content: string | Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lab-source-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

test("dummy sends the tutorial's four messages, the fourth being the time", async () => {
  const messages = await take("dummy", 5);
  assert.deepEqual(
    messages.map(([key]) => key),
    ["Key1", "Key2", "Key3", "Key4", "Key1"],
  );
  assert.deepEqual(
    messages.slice(0, 3).map(([, value]) => value),
    ["One!", "Two!", "three!"],
  );
  assert.match(messages[3]?.[1] ?? "", /2026/);
});

test("dummy begins a round with Key1 wherever the topic stands", async () => {
  assert.equal((await take("dummy", 1, 6))[0]?.[0], "Key1");
});

test("orders are a function of seed and index, and differ from each other", () => {
  assert.deepEqual(order(7, 3), order(7, 3));
  assert.notDeepEqual(order(7, 3), order(8, 3));
  const made = Array.from({ length: 500 }, (_, index) => order(7, index));
  assert.ok(new Set(made.map((one) => JSON.stringify({ ...one, order_id: 0 }))).size > 490);
  assert.ok(made.some((one) => "coupon" in one) && made.some((one) => !("coupon" in one)));
});

test("orders go on at the index where the topic stands", async () => {
  const [[, value] = []] = await take("orders", 1, 1234);
  assert.equal(JSON.parse(value ?? "{}").order_id, 1234);
});

test("an order's amount is the sum of its items", () => {
  for (let index = 0; index < 100; index++) {
    const { items, amount } = order(1, index) as {
      items: { quantity: number; price: number }[];
      amount: number;
    };
    const cents = items.reduce((sum, item) => sum + item.quantity * Math.round(item.price * 100), 0);
    assert.equal(Math.round(amount * 100), cents);
  }
});

test("NDJSON lines are sent as they stand: spaces, broken JSON, a last line without an end", async (t) => {
  const path = await fileOf(t, "a.ndjson", '{"a": 1}\n\n{broken\r\n  {"ü":2}');
  assert.deepEqual(
    (await take(path, 9)).map(([, value]) => value),
    ['{"a": 1}', "{broken", '  {"ü":2}'],
  );
});

test("standard input is cut at line ends only, wherever its chunks end", async () => {
  const values = (await take("-", 9, 0, piped('{"a"', ":1}\n{", '"b":2}', "\n"))).map(([, value]) => value);
  assert.deepEqual(values, ['{"a":1}', '{"b":2}']);
});

test("a CSV row is one JSON object, quotes and line breaks in cells included", async (t) => {
  const path = await fileOf(t, "a.csv", '\ufeffid,name,ok\n1,"Ada, ""A""\nL.",true\n007,,false\n');
  assert.deepEqual(
    (await take(path, 9)).map(([, value]) => JSON.parse(value ?? "")),
    [
      { id: 1, name: 'Ada, "A"\nL.', ok: true },
      { id: "007", name: null, ok: false },
    ],
  );
});

test("a CSV cell becomes a number only where no digit can be lost", () => {
  for (const cell of ["0", "-1", "12.50", "9007199254740993"]) assert.equal(cellJson(cell), cell);
  for (const cell of ["1e3", "+1", ".5", "01", "NaN", "1 "])
    assert.equal(cellJson(cell), JSON.stringify(cell));
});

test("a broken CSV names its line; a missing file and an unknown source say what there is", async (t) => {
  const path = await fileOf(t, "a.csv", "a,b\n1,2\n3\n");
  await assert.rejects(
    take(path, 9),
    (error) => isLabError(error, "SOURCE_UNREADABLE") && /line 3/i.test(error.message),
  );
  await assert.rejects(take("/nowhere/x.ndjson", 1), (error) => isLabError(error, "SOURCE_UNREADABLE"));
  await assert.rejects(
    take("nonsense", 1),
    (error) => isLabError(error, "USAGE") && /orders/.test(error.hint ?? ""),
  );
});

test("a file that is one JSON array is refused with the way to lines, not sent in pieces", async (t) => {
  const path = await fileOf(t, "a.json", ' [\n  {"a": 1}\n]\n');
  await assert.rejects(
    take(path, 9),
    (error) => isLabError(error, "SOURCE_UNREADABLE") && /jq/.test(error.hint ?? ""),
  );
  const lines = await fileOf(t, "b.json", '{"a":1}\n');
  assert.equal((await take(lines, 9)).length, 1);
});

test("two CSV columns of one name are refused: the cells of one would be lost", async (t) => {
  const path = await fileOf(t, "a.csv", "a,b,a\n1,2,3\n");
  await assert.rejects(
    take(path, 9),
    (error) => isLabError(error, "SOURCE_UNREADABLE") && /"a"/.test(error.message),
  );
});

test("the key comes from a field of the JSON value, null where there is none", () => {
  const key = (value: string) => keyFrom("k", { key: null, value });
  assert.equal(key('{"k":"a"}'), "a");
  assert.equal(key('{"k":12}'), "12");
  assert.equal(key('{"k":true}'), "true");
  assert.equal(key('{"k":{"x":1}}'), '{"x":1}');
  assert.equal(key('{"k":12345678901234567890.10}'), "12345678901234567890.10", "every digit");
  for (const value of ["{}", '{"k":null}', "broken", "3", "null"]) assert.equal(key(value), null);
});
