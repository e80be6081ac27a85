/** Compare, commit microscope, letters and upkeep on the page, over a real broker and real tables. */

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

const DEADLINE = { deadlineMs: 120_000 };
const orders = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ id: from + n, amount: n * 1.5 }));

async function open(t: TestContext, lab: ServedLab, path: string, options: PageOptions = {}) {
  const address = new URL(path, lab.origin);
  address.searchParams.set("token", "secret");
  const page = await openPage(browser, address.href, options);
  t.after(page.close);
  const reads = (selector: string, pattern: RegExp) =>
    until(
      `${selector} to read ${pattern}`,
      async () => {
        const text = await page.text(selector);
        if (!pattern.test(text)) throw new Error(text);
        return text;
      },
      DEADLINE,
    );
  return {
    ...page,
    reads,
    click: (name: string) => page.page.getByRole("button", { name, exact: true }).click(),
  };
}

/** No serious finding and nothing that sticks out, wide and narrow, light and dark. */
async function isSound(
  t: TestContext,
  lab: ServedLab,
  path: string,
  ready: (page: Awaited<ReturnType<typeof open>>) => Promise<unknown>,
) {
  for (const [width, theme] of [
    [360, "dark"],
    [1440, "light"],
  ] as const) {
    const page = await open(t, lab, path, { width, theme, bypassCSP: true });
    await ready(page);
    assert.deepEqual(await seriousFindings(page.page), [], `${path}, ${theme}, ${width} px`);
    assert.ok((await page.overflow()) <= 0, `${path} at ${width} px`);
    await page.close();
  }
}

test("versions are compared by key, across schema changes and an optimize, and any record is traced to its file", async (t) => {
  const lab = await serveLab(t);
  for (const [n, more] of [
    orders(30),
    orders(30, 30),
    ['{"id": 60, "amount": 1, "note": "new"}'],
  ].entries()) {
    await lab.produce(more);
    await lab.ingest();
    assert.ok(n >= 0);
  }
  await python(
    `import sys
from deltalake import DeltaTable
DeltaTable(sys.argv[1]).update(updates={"amount": "99.0"}, predicate="id = 5")`,
    [lab.tableUri],
  );
  type Entry = { version: number; operation: string };
  const history = async () =>
    JSON.parse(await lab.lab("history", "orders", "--store", lab.store, "--json")) as Entry[];
  const [updated, noted] = await history();

  const page = await open(t, lab, `/t/orders/compare`);
  await page.reads("#compare-line", /→ \d+: 0 rows added, 0 removed, 1 changed/);
  await until("the changed row", async () => /7\.5 → 99/.test(await page.text("#view-compare tbody")));
  await page.page.locator("#compare-key").selectOption("");
  await page.reads("#compare-line", /1 row added, 1 removed/);

  await page.page.locator("#compare-from").fill(String(noted!.version - 1));
  await page.page.locator("#compare-to").fill(String(updated!.version));
  await page.click("Compare");
  await page.reads("#compare-line", /column note added/);
  assert.match(
    page.page.url(),
    new RegExp(`/t/orders/compare\\?from=${noted!.version - 1}&to=${updated!.version}$`),
  );
  await page.reload();
  await page.reads("#compare-line", /column note added/);

  await page.page.getByRole("tab", { name: "Upkeep" }).click();
  await page.click("Optimize");
  const result = await page.reads(
    ".jobs",
    /Optimize took .*: (\d+) files \(.*\) became 1 \(.*\), version \d+/,
  );
  const optimized = Number(/version (\d+)/.exec(result)![1]);
  await page.page.goto(`${lab.origin}/t/orders/compare?from=${optimized - 1}&to=${optimized}`);
  await page.reads("#compare-line", /no row differs; \d+ files became 1$/);

  await page.page.goto(`${lab.origin}/t/orders/commit/${updated!.version}`);
  await page.reads(
    "#commit-head",
    new RegExp(`Version ${updated!.version}: _delta_log/0+${updated!.version}\\.json`),
  );
  await page.reads(".actions", /commitInfo.*UPDATE by delta-rs/s);
  assert.match(await page.text(".actions"), /remove Takes file .* out/);
  assert.match(await page.text(".actions"), /add Adds file .* rows/);
  const streamed = (await history()).findLast(({ operation }) => operation === "STREAMING UPDATE")!;
  await page.page.goto(`${lab.origin}/t/orders/commit/${streamed.version}`);
  await page.reads("#commit-settled", new RegExp(`Settled ${lab.topic}-0 0-9`));
  await page.reads(".actions", /Settles .*-0 up to offset 9: whoever starts next reads from 10/);
  await page.page.locator(".actions summary").first().click();
  assert.match((await page.page.locator(".actions pre").first().textContent())!, /"commitInfo": \{/);

  // From a row of the newest version to the commit that brought it and the file that has it now.
  await page.page.goto(`${lab.origin}/t/orders?version=${streamed.version}`);
  await page.showsVersion((version) => version === streamed.version);
  await page.page.locator("#view-rows tbody tr:not(.spacer)").first().click();
  await page.page.getByRole("button", { name: /^Where is .* from\?$/ }).click();
  await page.reads(
    "#commit-origin",
    new RegExp(`came with version ${streamed.version} in .*parquet. Now in .*parquet`),
  );
  await isSound(t, lab, `/t/orders/commit/${streamed.version}`, (one) =>
    one.reads("#commit-settled", /Settled/),
  );
  await isSound(t, lab, `/t/orders/compare?from=1&to=${updated!.version}`, (one) =>
    one.reads("#compare-line", /→/),
  );
  assert.deepEqual(page.complaints, []);
});

test("a link or the field goes to the version of a time or of a Kafka offset", async (t) => {
  const lab = await serveLab(t);
  await lab.produce(orders(30));
  await lab.ingest();
  const [first] = JSON.parse(await lab.lab("history", "orders", "--store", lab.store, "--json"));
  await lab.produce(orders(30, 30));
  await lab.ingest();
  const page = await open(t, lab, "/t/orders?offset=0:5");
  await page.showsVersion((version) => version === first.version);
  await page.isAt(new RegExp(`\\?version=${first.version}$`));
  const field = page.page.locator("#goto-version");
  await field.fill("0:15");
  await field.press("Enter");
  await page.showsVersion((version) => version > first.version);
  await field.fill(first.timestamp);
  await field.press("Enter");
  await page.showsVersion((version) => version === first.version);
  await field.fill("0:99999");
  await field.press("Enter");
  await page.reads("#goto-problem", /not yet 99999/);
});

test("letters are listed and inspected byte by byte; a trial changes nothing, a drop asks first", async (t) => {
  const lab = await serveLab(t);
  await lab.produce([...orders(9), "{broken", "<b>bold</b>", Buffer.from([0xff, 0x00, 0x41])]);
  await lab.ingest();
  const page = await open(t, lab, "/t/orders/letters");
  const row = page.page.locator("#view-letters tbody tr");
  await until("the letters", async () => (await row.count()) === 3, DEADLINE);
  assert.equal(await page.page.locator("#view-letters tbody input:checked").count(), 0, "nothing is ticked");
  const dialog = page.page.locator("dialog[open]");

  // A dialog that was closed while its letter was still read came back by itself.
  await page.page.route("**/api/letters/*/one?*", () => {});
  const dropped = page.page.waitForEvent("requestfailed", { timeout: DEADLINE.deadlineMs });
  await row.nth(1).getByRole("button", { name: "Inspect" }).click();
  await until("the reading", async () => /Reading/.test((await dialog.textContent()) ?? ""), DEADLINE);
  await page.page.keyboard.press("Escape");
  assert.match((await dropped).url(), /\/one\?/, "what nobody waits for is not asked for any longer");
  assert.equal(await dialog.count(), 0, "closed stays closed");
  await page.page.unroute("**/api/letters/*/one?*");

  await row.nth(1).getByRole("button", { name: "Inspect" }).click();
  await until(
    "the bytes",
    async () => /3c 62 3e 62 6f 6c 64/.test((await dialog.textContent()) ?? ""),
    DEADLINE,
  );
  assert.equal(await dialog.locator("b").count(), 0, "content is text");
  await page.page.keyboard.press("Escape");

  await page.page.getByLabel("Choose all listed").check();
  await page.click("Try replay");
  await page.reads("#letters-job", /Trial replay took .*3 still bad: /);
  await row.nth(0).getByRole("checkbox").uncheck();
  await page.click("Drop");
  assert.match((await dialog.textContent())!, /2 letters will count as done with.*for example/);
  await page.click("Drop 2 letters");
  await page.reads("#letters-job", /Drop took .*2 letters dropped/);
  await until("the rest", async () => (await row.count()) === 1, DEADLINE);
  await page.page.getByLabel("Letters in this state").selectOption("dropped");
  await until("the dropped", async () => (await row.count()) === 2, DEADLINE);
  await page.reads("#ledger-verdict", /Nothing lost, nothing doubled/);
  await isSound(t, lab, "/t/orders/letters", async (one) => one.reads("#view-letters tbody", /Inspect/));
});

test("upkeep shows progress and results: a dry vacuum deletes nothing, a restore can be undone", async (t) => {
  const lab = await serveLab(t);
  await lab.produce(orders(30));
  await lab.ingest();
  const [first] = JSON.parse(await lab.lab("history", "orders", "--store", lab.store, "--json"));
  await lab.produce(orders(30, 30));
  await lab.ingest();
  const page = await open(t, lab, "/t/orders/upkeep");
  await page.click("Vacuum, dry run");
  await page.reads(".jobs", /Vacuum, dry run took .*0 files .* would go/);
  await page.page.goto(`${lab.origin}/t/orders/upkeep?version=${first.version}`);
  await page.click(`Restore version ${first.version}`);
  await page.reads(".jobs", new RegExp(`version \\d+ is equal to version ${first.version}`));
  await page.reads("#ledger-terms", /taken by restore30/);
  await page.reads("#ledger-verdict", /Nothing lost/);
  await page.page.getByRole("button", { name: /^Undo: back to version/ }).click();
  await until(
    "the rows back",
    async () =>
      (await page.page.locator("#ledger-terms tr", { hasText: "rows" }).first().textContent())!.includes(
        "60",
      ),
    DEADLINE,
  );
  await isSound(t, lab, "/t/orders/upkeep", (one) => one.reads(".jobs", /Restore/));
});
