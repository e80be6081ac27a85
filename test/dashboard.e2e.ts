import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import { FAULTS, type FaultName } from "../dashboard/chaos.ts";
import type { Progress } from "../dashboard/work.ts";
import { type FakeLab, fakeLab } from "./support/fake-lab.ts";
import { serveFakeLab } from "./support/fake-page.ts";
import { openBrowser, seriousFindings } from "./support/page.ts";
import { until } from "./support/until.ts";

let browser: Browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

const start = (t: TestContext, lab?: FakeLab) => serveFakeLab(t, browser, lab);

test("new rows appear without a reload, and the page complains of nothing", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/");
  assert.equal(await page.showsVersion((version) => version === 12), 12);
  await page.isAt(/\/t\/orders$/);
  const before = {
    row: await page.firstRow(),
    chart: await page.chartFinding(),
    picture: await page.chartPixels(),
  };
  lab.produce(250);
  await until("lag in the flow", async () => /lag 250/.test(await page.text("#stations")));
  lab.commit(250);
  await page.showsVersion((version) => version === 13);
  assert.notDeepEqual(await page.firstRow(), before.row);
  assert.notEqual(await page.chartFinding(), before.chart);
  assert.notEqual(await page.chartPixels(), before.picture);
  assert.match(await page.text("#stations"), /lag 0/);
  assert.deepEqual(page.complaints, []);
});

test("scrubbing back by keyboard changes rows, chart, offsets and address; live comes back with one key", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  const live = {
    row: await page.firstRow(),
    picture: await page.chartPixels(),
    offsets: await page.text("#offsets-box"),
  };
  await page.press("ArrowLeft", 4);
  await page.showsVersion((version) => version === 8);
  await page.isAt(/\/t\/orders\?version=8$/);
  assert.notDeepEqual(await page.firstRow(), live.row);
  assert.notEqual(await page.chartPixels(), live.picture);
  assert.notEqual(await page.text("#offsets-box"), live.offsets);
  assert.match(await page.chartFinding(), /at version 8$/);
  assert.match(await page.text("#live"), /Pinned to version 8, 4 newer/);
  const spoken = await page.page.locator("#scrubber").getAttribute("aria-valuetext");
  assert.match(spoken!, /^Version 8, streaming update, 156 rows added, .*UTC$/);

  lab.commit(70);
  await until("the newer version to be counted", async () => /5 newer/.test(await page.text("#live")));
  assert.equal(await page.version(), 8, "a pinned page stays where it is");

  await page.press("m");
  assert.equal(await page.showsVersion((version) => version === 9), 9, "the next mark is the optimize");
  await page.press("Home");
  await until("the empty version", async () =>
    /No rows in version 0/.test(await page.text("#view-rows .empty")),
  );
  assert.equal(await page.version(), 0);
  await page.press("l");
  await page.showsVersion((version) => version === 13);
  await page.isAt(/\/t\/orders$/);
  assert.deepEqual(page.complaints, []);
});

test("dragging the handle and the step buttons scrub too", async (t) => {
  const { open } = await start(t, fakeLab(40));
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 40);
  await page.dragTo(0.25);
  const dragged = await page.showsVersion((version) => Math.abs(version - 10) <= 1);
  await page.page.locator("#newer").click();
  await page.showsVersion((version) => version === dragged + 1);
  await page.page.locator("#goto-version").fill("33");
  await page.page.keyboard.press("Enter");
  await page.showsVersion((version) => version === 33);
  await page.page.locator("#goto-version").fill("99");
  await page.page.keyboard.press("Enter");
  assert.match(await page.text("#goto-problem"), /versions 0 to 40/);
  await page.page.locator("#live").click();
  await page.showsVersion((version) => version === 40);
});

test("a link to a version survives reload, and Back undoes the step into the past", async (t) => {
  const { open } = await start(t);
  const page = await open("/t/orders/schema?version=4");
  await until("the schema", async () => /settled to/.test(await page.text("#view-schema")));
  assert.doesNotMatch(await page.text("#view-schema tbody"), /note/, "version 4 has no such column yet");
  await page.reload();
  await until("the schema again", async () => /settled to/.test(await page.text("#view-schema")));
  assert.equal(await page.version(), 4);
  await page.press("ArrowRight", 2);
  await until("the new column", async () => /note/.test(await page.text("#view-schema tbody")));
  await page.page.getByRole("tab", { name: "Files" }).click();
  await until("the files", async () => /18 files/.test(await page.text("#view-files .foot")));
  await page.isAt(/\/t\/orders\/files\?version=6$/);
  await page.page.goBack();
  await page.isAt(/\/t\/orders\/schema\?version=6$/);
});

test("a version that is not there, and one whose files are gone, say so and show what there is", async (t) => {
  const { lab, open } = await start(t);
  lab.faults.unreadableBelow = 6;
  const page = await open("/t/orders?version=99");
  await page.showsVersion((version) => version === 12);
  assert.match(await page.text("#notice"), /Version 99 of orders does not exist yet.*version 12/);
  await page.page.locator("#notice a").click();
  await until("no notice", async () => !(await page.page.locator("#notice").isVisible()));
  await page.press("ArrowLeft", 9);
  await until("the reason", async () =>
    /vacuumed.*oldest readable version is 6/i.test(await page.text("#view-rows .empty")),
  );
  await page.page.getByRole("tab", { name: "Schema" }).click();
  await until("the schema", async () => /order_id/.test(await page.text("#view-schema")));
  const other = await open("/t/nothere");
  await until("the notice", async () => /There is no table nothere/.test(await other.text("#notice")));
  assert.equal(await other.text("#version-line"), "No such table");
});

test("what a message holds is text, also in the dialog of a whole row", async (t) => {
  const { open } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  const grid = page.page.locator("#view-rows table");
  await grid.focus();
  await page.page.keyboard.press("Home");
  await page.page.keyboard.press("ArrowDown");
  await page.page.keyboard.press("Enter");
  const dialog = page.page.locator("dialog[open]");
  assert.match((await dialog.textContent())!, /order_id.*_kafka.*"topic": "orders"/s);
  await page.page.keyboard.press("Escape");
  assert.match(await page.text("#view-rows tbody"), /<b>fragile<\/b>/);
  assert.equal(await page.page.locator("#view-rows b").count(), 0);
});

test("the SQL console runs, shows errors under their place, cancels, and its link survives reload", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/sql?q=SELEC%201&table=orders");
  const editor = page.page.locator("#sql");
  await until("the text of the link", async () => (await editor.inputValue()) === "SELEC 1");
  assert.equal(lab.queries.length, 0, "a link never runs by itself");
  await editor.focus();
  await page.page.keyboard.press("Control+Enter");
  await until("the error", async () =>
    /syntax error.*SQL_ERROR.*\nSELEC 1\n\^/s.test(await page.text("#sql-problem")),
  );
  assert.equal(await editor.getAttribute("aria-invalid"), "true");

  await editor.fill("SELECT * FROM range(10000)");
  await page.page.getByRole("button", { name: "Run" }).click();
  await until("the rows", async () =>
    /First 10,000 rows shown: the result was cut, 41 ms/.test(await page.text("#view-sql .feet")),
  );
  assert.ok(
    (await page.page.locator("#view-sql tbody tr").count()) < 100,
    "only rows in sight are in the page",
  );
  await page.page.locator("#view-sql table").focus();
  await page.page.keyboard.press("End");
  await until("the last row", async () => /9999row 9999/.test(await page.text("#view-sql tbody")));
  await page.reload();
  await until(
    "the text after reload",
    async () => (await editor.inputValue()) === "SELECT * FROM range(10000)",
  );

  await editor.fill("SELECT forever");
  await editor.focus();
  await page.page.keyboard.press("Control+Enter");
  await until("the clock", async () => /Running \d/.test(await page.text("#sql-progress")));
  await page.page.keyboard.press("Escape");
  await until("the end", async () => /Cancelled/.test(await page.text("#sql-problem")));
  assert.deepEqual(
    page.complaints.filter((line) => !/400/.test(line)),
    [],
  );
});

test("the SQL console completes, keeps a history, sorts exactly, copies, and draws a result", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/sql?table=orders");
  await until("the columns", async () => /20 of|100 of|rows/.test(await page.text("#view-rows .foot")));
  const editor = page.page.locator("#sql");
  const offers = page.page.locator("#sql-offers li");
  await editor.fill("");
  await editor.pressSequentially("SELECT amo");
  await until("the column", async () => (await offers.first().textContent())?.startsWith("amount") === true);
  assert.equal(await editor.getAttribute("aria-expanded"), "true");
  await page.page.keyboard.press("Tab");
  await editor.pressSequentially(" FROM ord");
  await until("the table", async () => (await offers.first().textContent())?.startsWith("orders") === true);
  await page.page.keyboard.press("Enter");
  assert.equal(await editor.inputValue(), "SELECT amount FROM orders");
  assert.equal(lab.queries.length, 0, "Enter took the offer and ran nothing");

  await editor.fill("SELECT * FROM range(200)");
  await page.page.keyboard.press("Control+Enter");
  await until("the rows", async () => /200 rows/.test(await page.text("#view-sql .feet")));
  const first = () => page.page.locator("#view-sql tbody tr:not(.spacer)").first().textContent();
  const head = page.page.locator("#view-sql th button").first();
  await head.click();
  assert.equal(await first(), "0row 0");
  await head.click();
  assert.equal(await first(), "199row 199");
  const sort = page.page.locator("#view-sql th").first();
  assert.equal(await sort.getAttribute("aria-sort"), "descending");

  await page.page.getByRole("button", { name: "Chart", exact: true }).click();
  await until("the reason", async () => /200 bars are too many/.test(await page.text(".sql-chart")));
  await editor.fill("SELECT * FROM range(9)");
  await page.page.keyboard.press("Control+Enter");
  await until("the chart", async () =>
    /range by text: from 0 to 8/.test(
      (await page.page.locator("#sql-chart").getAttribute("aria-label")) ?? "",
    ),
  );
  const drawn = await page.page.locator("#sql-chart").screenshot();
  assert.ok(drawn.length > 1_000);

  const download = page.page.waitForEvent("download");
  await page.page.getByRole("button", { name: "Save CSV" }).click();
  assert.equal((await download).suggestedFilename(), "result.csv");
  await editor.focus();
  await page.page.keyboard.press("Alt+ArrowUp");
  await page.page.keyboard.press("Alt+ArrowUp");
  assert.equal(await editor.inputValue(), "SELECT * FROM range(200)");
  await page.reload();
  const past = page.page.getByLabel("Statements that were run");
  await until("the history", async () => (await past.locator("option").count()) === 3);
  await page.page.getByRole("button", { name: "Clear history" }).click();
  assert.equal(await past.locator("option").count(), 1);
  assert.deepEqual(page.complaints, []);
});

test("Run is clicked while offers stand above it: they went as the mouse went down, and the button from under it", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/sql?table=orders");
  await until("the columns", async () => /20 of|100 of|rows/.test(await page.text("#view-rows .foot")));
  const offers = page.page.locator("#sql-offers li");
  await page.page.locator("#sql").fill("");
  await page.page.locator("#sql").pressSequentially("SELECT amo");
  await until("an offer", async () => offers.first().isVisible());
  await page.page.getByRole("button", { name: "Run", exact: true }).click();
  await until("the run", async () => lab.queries.length === 1);
  await until("no list", async () => !(await offers.first().isVisible()));
});

test("frozen, dead, paused and quiet look different and say so in words", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  const ingester = page.page.locator("#stations li").nth(2);
  const condition = () => ingester.getAttribute("data-condition");
  assert.equal(await condition(), "ok");
  const cases = [
    ["frozen", "dead", /not answering since \d\d:\d\d:\d\dZ|not answering since 20.*pid 4211/],
    ["dead", "dead", /ended since .*pid 4211/],
    ["paused", "paused", /paused: the store does not answer/],
    ["running", "ok", /buffered/],
  ] as const;
  for (const [fault, looks, words] of cases) {
    lab.faults.ingester = fault;
    await until(
      fault,
      async () => (await condition()) === looks && words.test((await ingester.textContent())!),
    );
  }
  const topic = page.page.locator("#stations li").nth(1);
  await until("quiet", async () => /quiet \d+ s/.test((await topic.textContent())!), { deadlineMs: 20_000 });
  assert.equal(await topic.getAttribute("data-condition"), "quiet");
});

test("a lost connection is told, keeps what is shown, still scrubs what was seen, and heals by itself", async (t) => {
  const { lab, open, stop, startAgain } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  await page.press("ArrowLeft", 2);
  await page.showsVersion((version) => version === 10);
  await page.press("ArrowRight", 1);
  await page.showsVersion((version) => version === 11);
  stop();
  await until("the word", async () =>
    /Disconnected, as of .*Retrying in \d+ s/.test(await page.text("#connection")),
  );
  assert.equal(await page.page.locator("#retry").isVisible(), true);
  assert.ok((await page.firstRow()).length > 0, "rows stay");
  await page.press("ArrowLeft", 1);
  await page.showsVersion((version) => version === 10);
  await page.press("Home");
  await until("the problem", async () => /does not answer/.test(await page.text("#view-rows .problem")));
  await startAgain();
  await until("the version", async () => /No rows in version 0/.test(await page.text("#view-rows .empty")));
  lab.commit(40);
  await page.page
    .locator("#retry")
    .click({ timeout: 2_000 })
    .catch(() => undefined);
  await until("the connection", async () => (await page.text("#connection")) === "Connected");
  await page.press("l");
  await page.showsVersion((version) => version === 13);
});

test("a chore shows as a bar how far it is, for as long as it runs, on a page that comes later too", async (t) => {
  const lab = fakeLab();
  let tell: (progress: Progress) => void = () => {};
  let end = (_: unknown): void => {};
  const none = async () => [];
  lab.control.work = {
    ...{ letters: none, letter: none },
    perform: (_table, _chore, told) => {
      tell = told;
      return new Promise((resolve) => {
        end = resolve;
      });
    },
  };
  const { open } = await start(t, lab);
  const page = await open("/t/orders/upkeep?token=secret");
  await page.showsVersion((version) => version === 12);
  await page.page.getByRole("button", { name: "Optimize" }).click();
  const bar = page.page.getByRole("progressbar", { name: "Progress of Optimize" });
  await until(
    "a bar of unknown length",
    async () => (await bar.count()) === 1 && !(await bar.getAttribute("value")),
  );
  tell({ step: "optimize, MiB", done: 21, total: 84 });
  await until("a quarter", async () => (await bar.getAttribute("value")) === "0.25");
  assert.match(await page.text(".jobs"), /Optimize runs for .*: optimize, MiB, 21 of 84/);
  const later = await open("/t/orders/upkeep");
  const same = later.page.getByRole("progressbar", { name: "Progress of Optimize" });
  await until(
    "the same bar",
    async () => (await same.count()) === 1 && (await same.getAttribute("value")) === "0.25",
  );
  end({ version: null });
  await until("the end", async () => /Optimize took .*: nothing to do/.test(await page.text(".jobs")));
  assert.equal(await bar.isVisible(), false);
});

test("an outage of the store keeps what is known and names the reason", async (t) => {
  const { lab, open } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  lab.faults.storeGone = true;
  await until("the reason", async () => /STORE_UNREACHABLE/.test(await page.text("#tables-note")));
  assert.ok((await page.firstRow()).length > 0);
  lab.faults.brokerGone = true;
  await until("the other reason", async () => /BROKER_UNREACHABLE/.test(await page.text("#flow-note")));
});

test("an empty lab says how to begin, and a lab before its first commit what it waits for", async (t) => {
  const lab = fakeLab();
  const { tables, control } = lab;
  const [parts, topics, listed] = [control.parts, control.topics, tables.tables];
  tables.tables = async () => [];
  control.parts = async () => [];
  control.topics = async () => [];
  const { open } = await start(t, lab);
  const page = await open("/", { bypassCSP: true });
  const rows = () => page.text("#view-rows .empty");
  await until("the way to begin", async () => /lab produce.*lab ingest/.test(await rows()));
  assert.equal(await page.text("#table-picker"), "No tables yet");
  assert.equal(await page.text("#connection"), "Connected");
  assert.match(await page.text("#ledger-verdict"), /^Nothing to count/);
  assert.deepEqual(await seriousFindings(page.page), []);
  control.parts = parts;
  control.topics = topics;
  await until("what it waits for", async () =>
    /messages of orders wait for the first commit/.test(await rows()),
  );
  assert.equal(await page.text("#ledger-verdict"), "Nothing committed yet");
  assert.match(await page.text("#stations"), /orders/, "the stream that is about to make a table is shown");
  tables.tables = listed;
  await page.showsVersion((version) => version === 12);
  assert.equal(await page.page.locator("#view-rows .empty").isVisible(), false);
  assert.deepEqual(page.complaints, []);
});

for (const width of [360, 1440, 2560])
  test(`at ${width} px, light and dark, in each tab: nothing sticks out and axe finds nothing serious`, async (t) => {
    const { open, lab } = await start(t);
    const colours = new Set<string>();
    for (const theme of ["light", "dark"] as const) {
      const page = await open("/t/orders?version=11", { width, theme, bypassCSP: true });
      await page.showsVersion((version) => version === 11);
      colours.add(await page.background());
      for (const tab of [
        "Rows",
        "Schema",
        "Files",
        "Compare",
        "Commit",
        "Letters",
        "Upkeep",
        "Break it",
        "SQL",
      ]) {
        await page.page.getByRole("tab", { name: tab }).click();
        assert.ok((await page.overflow()) <= 0, `${tab} at ${width} px`);
        assert.deepEqual(await seriousFindings(page.page), [], `${tab}, ${theme}, ${width} px`);
      }
      lab.faults.storeGone = true;
      await page.page.locator("#sql").fill("SELEC");
      await page.page.getByRole("button", { name: "Run" }).click();
      await until("errors", async () => /STORE_UNREACHABLE/.test(await page.text("#tables-note")));
      assert.deepEqual(await seriousFindings(page.page), [], `errors, ${theme}, ${width} px`);
      assert.ok((await page.overflow()) <= 0, `errors at ${width} px`);
      lab.faults.storeGone = false;
      await page.close();
    }
    assert.equal(colours.size, 2);
  });

test("a page that came only in part loads itself anew, and says so when that does not help", async (t) => {
  const { open } = await start(t);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  let broken = 0;
  await page.page.route("**/page/panels.js", (route) => (++broken < 3 ? route.abort() : route.continue()));
  await page.reload();
  await page.showsVersion((version) => version === 12);
  assert.equal(broken, 3);
  await page.page.route("**/page/panels.js", (route) => route.abort());
  await page.reload();
  await until("the word", async () => /did not load whole/.test(await page.text("#connection")));
});

test("where two versions cannot be compared, no rows of others stand below the reason, and those come back when asked for again", async (t) => {
  const { open } = await start(t);
  const page = await open("/t/orders/compare?from=3&to=7");
  const grid = page.page.locator("#view-compare .grid");
  await until("the rows", async () => /3 → 7/.test(await page.text("#compare-line")));
  assert.equal(await grid.isVisible(), true);
  await page.page.locator("#compare-to").fill("99");
  await page.page.getByRole("button", { name: "Compare", exact: true }).click();
  await until("the reason", async () => /VERSION_NOT_FOUND/.test(await page.text("#view-compare .problem")));
  assert.equal(await grid.isVisible(), false);
  await page.page.goBack();
  await until("the rows again", async () => /3 → 7/.test(await page.text("#compare-line")));
  assert.equal(await grid.isVisible(), true);
});

test("on a phone, what a fault did is in sight of whoever pressed its button, however far below that is", async (t) => {
  const lab = fakeLab();
  lab.control.chaos = {
    refusals: async () =>
      Object.fromEntries(FAULTS.map(({ name }) => [name, null])) as Record<FaultName, null>,
    cause: async () => ({ did: [] }),
    heal: async () => {},
  };
  const { open } = await start(t, lab);
  const page = await open("/t/orders/break?token=secret", { width: 360, height: 740, bypassCSP: true });
  await page.showsVersion((version) => version === 12);
  const button = page.page.getByRole("button", { name: "Change the schema" });
  await button.waitFor();
  // A fault that was caused goes on for longer than this test does.
  await page.page.evaluate(
    "document.querySelector('#view-break .did').append('three messages with a new field sent', document.createElement('hr'))",
  );
  const did = page.page.getByText("three messages with a new field sent").first();
  await did.waitFor();
  await button.scrollIntoViewIfNeeded();
  const [said, scroller] = [
    await did.boundingBox(),
    await page.page.locator("#view-break .break-columns").boundingBox(),
  ];
  assert.ok(said!.y >= scroller!.y && said!.y + said!.height <= scroller!.y + scroller!.height);
  assert.equal(await button.isVisible(), true);
  assert.deepEqual(await seriousFindings(page.page), []);
  assert.ok((await page.overflow()) <= 0);
});

test("however many tables there are, the one that is looked at is in sight in their list", async (t) => {
  const lab = fakeLab();
  const listed = lab.tables.tables;
  lab.tables.tables = async (signal) => {
    const found = await listed(signal);
    const others = Array.from({ length: 20 }, (_, n) => ({ ...found[0]!, name: `a${n}`, id: `a${n}` }));
    return [...others, ...found];
  };
  const { open } = await start(t, lab);
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 12);
  const box = page.page.locator("#tables-box");
  const item = page.page.locator('#tables [aria-current="true"]');
  await until("the chosen one in the box", async () => {
    const [list, one] = [await box.boundingBox(), await item.boundingBox()];
    return one!.y >= list!.y - 1 && one!.y + one!.height <= list!.y + list!.height + 1;
  });
  assert.equal(await page.page.evaluate("scrollY"), 0, "and the page stayed where it was");
});

test("a theme that was chosen wins over the system's and is there before the first paint", async (t) => {
  const { open } = await start(t);
  const page = await open("/t/orders", { theme: "light" });
  await page.showsVersion((version) => version === 12);
  await page.page.locator("#theme").selectOption("dark");
  await page.reload();
  assert.equal(await page.page.locator("html").getAttribute("data-theme"), "dark");
});
