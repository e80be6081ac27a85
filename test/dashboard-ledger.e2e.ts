/** The ledger on the page, over a real broker and a real table: it is right, and nobody can lie to it. */

import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, openPage, type PageOptions, seriousFindings } from "./support/page.ts";
import { python } from "./support/python.ts";
import { type ServedLab, serveLab } from "./support/served-lab.ts";
import { until } from "./support/until.ts";

let browser: Browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

async function open(t: TestContext, lab: ServedLab, options: PageOptions = {}) {
  const page = await openPage(browser, `${lab.origin}/t/orders`, options);
  t.after(page.close);
  /** Waits until the verdict reads so, and gives the terms of all partitions together. */
  const says = async (verdict: RegExp) => {
    await until(`the verdict ${verdict}`, async () => {
      const text = await page.text("#ledger-verdict");
      if (!verdict.test(text)) throw new Error(text);
      return true;
    });
    return terms();
  };
  const terms = async () => {
    const rows = await page.page.locator("#ledger-terms tr").allInnerTexts();
    return Object.fromEntries(
      rows.map((row) => {
        const [name = "", all = ""] = row.split("\t");
        return [name.replace(/^[=+] /, ""), Number(all.replaceAll(",", ""))];
      }),
    );
  };
  return { ...page, says };
}

const orders = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ id: from + n, amount: n * 1.5 }));

/** Takes three rows away and brings two others in again, as a writer that is not ours does. */
const TAKE = `
import sys
from deltalake import DeltaTable
DeltaTable(sys.argv[1]).delete("id in (30, 33, 36)")`;
const COPY = `
import sys
from deltalake import DeltaTable, write_deltalake
table = DeltaTable(sys.argv[1])
rows = table.to_pyarrow_table()
again = rows.filter([value in (40, 41) for value in rows["id"].to_pylist()])
write_deltalake(table, again, mode="append")`;

test("each record is a row, a letter, or waits; what another writer takes away or doubles shows, with place and culprit", async (t) => {
  const lab = await serveLab(t);
  await lab.produce(orders(90));
  await lab.produce(["{broken", "[1, 2]", "{broken too"]);
  const page = await open(t, lab);
  assert.deepEqual(await page.says(/Nothing lost, nothing doubled/), {
    ...{ produced: 93, rows: 0, letters: 0, skipped: 0, waiting: 93, lost: 0, doubled: 0 },
  });
  await lab.ingest();
  await until("the rows", async () => (await page.says(/Nothing lost, nothing doubled/)).waiting === 0);
  const whole = { produced: 93, rows: 90, letters: 3, skipped: 0, waiting: 0, lost: 0, doubled: 0 };
  assert.deepEqual(await page.says(/Nothing lost, nothing doubled/), whole);

  await python(TAKE, [lab.tableUri]);
  assert.deepEqual(await page.says(/^Lost 3$/), { ...whole, rows: 87, lost: 3 });
  const findings = await page.text("#ledger-findings");
  assert.match(findings, new RegExp(`${lab.topic}-0 offsets 10-12 lost`));
  assert.match(findings, /Version \d+, DELETE by delta-rs.*, took 3/);
  assert.equal(await page.page.locator("#ledger").getAttribute("data-verdict"), "broken");
  for (const [width, theme] of [
    [360, "dark"],
    [1440, "light"],
  ] as const) {
    const other = await open(t, lab, { width, theme, bypassCSP: true });
    await other.says(/^Lost 3$/);
    assert.deepEqual(await seriousFindings(other.page), [], `${theme}, ${width} px`);
    assert.ok((await other.overflow()) <= 0, `${width} px`);
    await other.close();
  }

  await python(COPY, [lab.tableUri]);
  assert.deepEqual(await page.says(/^Lost 3, Doubled 2$/), { ...whole, rows: 87, lost: 3, doubled: 2 });
  assert.match(await page.text("#ledger-findings"), /WRITE by delta-rs.*, brought 2 again/);
  await page.page.locator("#ledger-findings a", { hasText: "lost" }).click();
  const sql = await page.page.locator("#sql").inputValue();
  assert.match(sql, /FROM orders WHERE .*"offset" BETWEEN 10 AND 12/);

  // By minute the same records are missing: where minutes are summed, nothing hides.
  await page.page.getByRole("button", { name: "By minute" }).click();
  const lost = await page.page
    .locator("#ledger-terms tr", { hasText: "lost" })
    .locator("td")
    .allTextContents();
  assert.equal(
    lost.reduce((sum, n) => sum + Number(n), 0),
    3,
  );
  await page.page.getByRole("button", { name: "By minute" }).click();

  const history = JSON.parse(await lab.lab("history", "orders", "--store", lab.store, "--json"));
  const good = history.find((entry: { operation: string }) => entry.operation === "STREAMING UPDATE");
  await lab.lab("restore", "orders", "--store", lab.store, "--version", String(good.version));
  assert.deepEqual(await page.says(/Nothing lost, nothing doubled/), whole);
  assert.match(
    await page.text("#ledger-was"),
    /Lost 3, Doubled 2/,
    "it was broken until somebody has read so",
  );
  await page.page.getByRole("button", { name: "Read", exact: true }).click();
  assert.equal(await page.page.locator("#ledger-was").isVisible(), false);
  assert.deepEqual(page.complaints, []);
});

test("what a restore took on purpose is no loss, and hides none", async (t) => {
  const lab = await serveLab(t);
  await lab.produce(orders(30));
  await lab.ingest();
  const { version } = JSON.parse(await lab.lab("history", "orders", "--store", lab.store, "--json"))[0];
  await lab.produce(orders(60, 30));
  await lab.ingest();
  const page = await open(t, lab);
  await page.says(/Nothing lost/);
  await lab.lab("restore", "orders", "--store", lab.store, "--version", String(version));
  await until("the restore", async () => (await page.says(/Nothing lost/))["taken by restore"] === 60);
  await python(TAKE.replace("30, 33, 36", "3, 6"), [lab.tableUri]);
  const terms = await page.says(/^Lost 2$/);
  assert.deepEqual([terms.rows, terms["taken by restore"], terms.lost], [28, 60, 2]);
});

test("many rows of one record, records that a transform leaves out, and replayed letters keep the equation", async (t) => {
  const lab = await serveLab(t);
  await lab.produce([...orders(60), "{broken"]);
  const transform = "SELECT *, unnest([1, 2]) AS half FROM messages WHERE id % 3 <> 0";
  await lab.ingest("--transform", transform);
  const page = await open(t, lab);
  await until("all rows", async () => (await page.says(/Nothing lost/)).rows === 40);
  const terms = await page.says(/Nothing lost/);
  assert.deepEqual([terms.skipped, terms.letters, terms.produced], [20, 1, 61]);
});

/** Takes one dead letter away. */
const TAKE_LETTER = `
import sys
from deltalake import DeltaTable
DeltaTable(sys.argv[1]).delete("error_code = 'CDC_KEY_MISSING'")`;

test("of a table that changes are merged into, each message is merged, a letter, or waits; beside it its deleted keys tell the same", async (t) => {
  const lab = await serveLab(t);
  const changes = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) =>
      JSON.stringify({ id: n % 30, seq: from + n, op: n % 30 === 9 ? "d" : "u", name: `n${from + n}` }),
    );
  const merge = () =>
    lab.merge(
      ...["--cdc-format", "plain", "--cdc-key", "id", "--cdc-position", "seq", "--cdc-row", "."],
      ...["--cdc-deletes", "aside"],
    );
  await lab.produce(changes(90, 0));
  await lab.produce(["{broken", "[1, 2]", '{"seq": 5}']);
  await merge();
  await lab.produce(changes(30, 90));
  const page = await open(t, lab, { bypassCSP: true });
  const good = /^Nothing lost, as the commits tell$/;
  await until("all counted", async () => (await page.says(good)).produced === 123);
  const terms = { produced: 123, merged: 90, letters: 3, waiting: 30, lost: 0, doubled: 0 };
  assert.deepEqual(await page.says(good), terms);
  await merge();
  await until("all merged", async () => (await page.says(good)).waiting === 0);
  assert.deepEqual(await page.says(good), { ...terms, merged: 120, waiting: 0 });
  assert.deepEqual(await seriousFindings(page.page), []);
  assert.ok((await page.overflow()) <= 0);

  // A version of it is of as many rows as there are keys, whatever the number of messages.
  await page.showsVersion((version) => version > 1);
  assert.match(await page.text("#view-rows .foot"), /^29 rows/);

  await python(TAKE_LETTER, [`${lab.tableUri}__dead_letters`]);
  assert.deepEqual(await page.says(/^Lost 1$/), { ...terms, merged: 120, letters: 2, waiting: 0, lost: 1 });

  const beside = page.page.locator('#tables a[href$="/orders__deletes"]');
  assert.equal(await beside.getAttribute("title"), "The deleted keys of orders");
  await beside.click();
  await until("the deleted key", async () => /^1 row,/.test(await page.text("#view-rows .foot")));
  assert.equal(await page.text("#ledger-verdict"), "Lost 1", "the ledger is that of the table it is beside");
  assert.deepEqual(page.complaints, []);
});

test("a topic and a table that are made anew are counted anew", async (t) => {
  const lab = await serveLab(t);
  await lab.produce(orders(90));
  await lab.ingest();
  const page = await open(t, lab);
  await until("all rows", async () => (await page.says(/Nothing lost/)).rows === 90);
  await lab.makeAnew();
  await lab.produce(orders(30));
  await lab.ingest();
  await until("the new rows", async () => (await page.says(/Nothing lost/)).rows === 30, {
    deadlineMs: 120_000,
  });
  assert.equal((await page.says(/Nothing lost/)).produced, 30);
});
