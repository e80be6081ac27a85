import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import { fakeLab } from "./support/fake-lab.ts";
import { serveFakeLab } from "./support/fake-page.ts";
import { openBrowser } from "./support/page.ts";
import { until } from "./support/until.ts";

// The SQL console by keyboard alone.

let browser: Browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

async function openConsole(t: TestContext) {
  const lab = fakeLab();
  const { open } = await serveFakeLab(t, browser, lab);
  const page = await open("/sql?table=orders");
  await until("the columns", async () => /rows/.test(await page.text("#view-rows .foot")));
  const editor = page.page.locator("#sql");
  const focused = () =>
    page.page.evaluate<string>(
      "document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent",
    );
  const keys = async (...all: string[]) => {
    for (const key of all) await page.page.keyboard.press(key);
  };
  return { ...page, lab, editor, focused, keys };
}

test("Ctrl+/ makes lines comments and back, and one undo takes each back", async (t) => {
  const { editor, keys, complaints } = await openConsole(t);
  await editor.fill("SELECT 1\nFROM orders\nLIMIT 5");
  await keys("Control+/");
  assert.equal(await editor.inputValue(), "SELECT 1\nFROM orders\n-- LIMIT 5");
  await keys("Shift+ArrowUp", "Control+/");
  assert.equal(await editor.inputValue(), "SELECT 1\n-- FROM orders\n-- -- LIMIT 5");
  await keys("Control+z");
  assert.equal(await editor.inputValue(), "SELECT 1\nFROM orders\n-- LIMIT 5");
  await keys("ArrowDown", "End", "Control+/");
  assert.equal(await editor.inputValue(), "SELECT 1\nFROM orders\nLIMIT 5");
  assert.deepEqual(complaints, []);
});

test("a statement is laid out by key and by button, undone by one key, and never broken", async (t) => {
  const { page, editor, keys, text } = await openConsole(t);
  const written = "SELECT status,count(*) FROM orders WHERE note = 'a  b' GROUP BY ALL";
  const laidOut = "SELECT status, count(*)\nFROM orders\nWHERE note = 'a  b'\nGROUP BY ALL";
  await editor.fill(written);
  await keys("Shift+Alt+KeyF");
  assert.equal(await editor.inputValue(), laidOut);
  assert.equal(
    await page.locator("#sql-offers").isVisible(),
    false,
    "nothing was typed, so nothing is offered",
  );
  await keys("Control+z");
  assert.equal(await editor.inputValue(), written);
  await page.getByRole("button", { name: "Format" }).click();
  assert.equal(await editor.inputValue(), laidOut);
  await editor.fill("SELECT 'no end");
  await keys("Shift+Alt+KeyF");
  assert.equal(await editor.inputValue(), "SELECT 'no end");
  assert.match(await text("#sql-problem"), /not laid out: .* does not end/);
});

test("F6 goes from the editor to the result, to the history and back, and leaves out what is not there", async (t) => {
  const { editor, focused, keys, text, page } = await openConsole(t);
  await editor.fill("SELECT * FROM range(20)");
  await keys("Control+Enter");
  await until("the rows", async () => /20 rows/.test(await text("#view-sql .feet")));
  assert.equal(await focused(), "sql");
  await keys("F6");
  assert.equal(await focused(), "Result");
  await keys("ArrowDown", "End");
  const chosen = page.locator("#view-sql [aria-selected=true]");
  await until("the last row", async () => /^19row 19/.test((await chosen.textContent()) ?? ""));
  await keys("F6");
  assert.equal(await focused(), "Statements that were run");
  await keys("F6");
  assert.equal(await focused(), "sql");
  await keys("Shift+F6");
  assert.equal(await focused(), "Statements that were run");
  await page.getByRole("button", { name: "Clear history" }).focus();
  await keys("Enter");
  assert.equal(await focused(), "sql", "the button went, and the keyboard not with it");
  await keys("F6", "F6");
  assert.equal(await focused(), "sql", "there is no history to go to");
  await page.getByRole("button", { name: "Chart", exact: true }).click();
  await editor.focus();
  await keys("F6");
  assert.equal(await focused(), "Rows", "the way back from a chart to its rows");
  await keys("F6");
  assert.equal(await focused(), "sql");
});

test("a statement that the history, an example or a completion put in the place of another comes back by undo", async (t) => {
  const { editor, keys, page } = await openConsole(t);
  await editor.fill("SELECT * FROM range(3)");
  await keys("Control+Enter");
  await editor.fill("SELECT something new");
  await keys("Alt+ArrowUp");
  assert.equal(await editor.inputValue(), "SELECT * FROM range(3)");
  await keys("Control+z");
  assert.equal(await editor.inputValue(), "SELECT something new");
  await page.locator(".example").first().click();
  assert.match(await editor.inputValue(), /LIMIT 20/);
  await keys("Control+z");
  assert.equal(await editor.inputValue(), "SELECT something new");
});

for (const [width, height] of [
  [360, 740],
  [1440, 900],
] as const)
  test(`at ${width} px a result has room for rows below the editor, also where that was made tall`, async (t) => {
    const { open } = await serveFakeLab(t, browser, fakeLab());
    const page = await open("/sql?table=orders", { width, height });
    const editor = page.page.locator("#sql");
    await editor.fill("SELECT * FROM range(50)");
    await page.page.keyboard.press("Control+Enter");
    await until("the rows", async () => /50 rows/.test(await page.text("#view-sql .feet")));
    const grid = page.page.locator("#view-sql .grid");
    const feet = page.page.locator("#view-sql .feet");
    const seen = async () => {
      await feet.scrollIntoViewIfNeeded();
      const [rows, foot] = [await grid.boundingBox(), await feet.boundingBox()];
      assert.ok(rows!.height >= 170, `${rows!.height} px of rows`);
      assert.ok(foot!.y >= rows!.y + rows!.height, "the foot stands below the rows");
      assert.ok((await page.overflow()) <= 0);
    };
    await seen();
    // As its handle is drawn.
    await editor.evaluate((element) => element.setAttribute("rows", "40"));
    await seen();
  });
