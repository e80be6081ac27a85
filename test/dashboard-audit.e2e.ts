/** The page of audits as a user meets it. */

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import { LabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import type { AuditDay } from "../dashboard/audit.ts";
import { createDashboard } from "../dashboard/server.ts";
import { auditDay, auditedTopic, fakeAudit } from "./support/audit-day.ts";
import { fakeLab } from "./support/fake-lab.ts";
import { openBrowser, openPage, type PageOptions, seriousFindings } from "./support/page.ts";
import { until } from "./support/until.ts";

let browser: Browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

const NOON = Date.UTC(2026, 4, 4, 12);

async function start(
  t: TestContext,
  day: (date: string, timeZone: string) => AuditDay = () => auditDay(NOON),
) {
  const lab = fakeLab();
  const audit = fakeAudit(day);
  const app = createDashboard({
    ...{ tables: lab.tables, control: lab.control, audit, token: "secret", log: silentLog },
    allowedHosts: ["127.0.0.1"],
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ audit, origin },
    async open(path: string, options?: PageOptions) {
      const opened = await openPage(browser, `${origin}${path}`, options);
      t.after(opened.close);
      await until("an answer", async () => !/Not asked/.test(await opened.text("#answer-text")));
      return opened;
    },
  };
}

test("an hour that lacks messages is found, opened, and its window says which ones are missing where", async (t) => {
  const { open } = await start(t);
  const page = await open("/audit");
  assert.equal(await page.text("#answer-text"), "Not yet");
  assert.match(
    await page.text("#answer-why"),
    /^2 of 3 topics open, 39,357 of 39,400 messages settled, 6 of them as dead letters$/,
  );
  const hour = page.page.locator('[aria-label^="payments, 04:00"]');
  assert.equal(
    await hour.getAttribute("aria-label"),
    "payments, 04:00: messages are missing, doubled or changed; 3 messages amiss, 1,197 of 1,200 messages settled",
  );
  await hour.click();
  assert.match(await page.text("#hour-title"), /^payments, 04:00 to 05:00/);
  const [first] = await page.page.locator("#windows tr").allTextContents();
  assert.equal(first, "04:00100970" + "3 messages lost of till-1 (broker), no. 3, 7-8");
  assert.match(page.page.url(), /\/audit\?topic=payments&hour=2026-05-04T04%3A00%3A00\.000Z$/);
  await page.reload();
  await until("the same hour after a reload", async () =>
    /^payments, 04:00/.test(await page.text("#hour-title")),
  );
  await page.page.locator("#hour-close").click();
  assert.equal(await page.page.locator("#hour").isVisible(), false);
  assert.deepEqual(page.complaints, []);
});

test("each hour has the sign of its state, and the legend has all of them", async (t) => {
  const { open } = await start(t);
  const page = await open("/audit");
  const states = async (topic: string) =>
    page.page
      .locator(`[aria-label^="${topic}, "]`)
      .evaluateAll((cells) =>
        cells.map((cell) => (cell as unknown as { dataset: { state: string } }).dataset.state).join(" "),
      );
  const whole = (hours: number) => Array<string>(hours).fill("whole").join(" ");
  // The day is long over, so nothing of it is yet to come.
  const open12 = Array<string>(12).fill("open").join(" ");
  assert.equal(await states("orders"), `${whole(11)} open ${open12}`);
  assert.equal(await states("payments"), `${whole(4)} bad ${whole(4)} open open open ${open12}`);
  assert.equal(await states("clicks"), `${whole(11)} waiting ${open12}`);
  assert.equal(await page.page.locator("#heat-legend li").count(), 6);
  assert.match(
    await page.text("#clock-text"),
    /^The day is over by the clock; all origins have passed 09:00\.$/,
  );
  assert.match(await page.text("#amiss"), /payments dead of till-2 \(producer\), since 2026-05-04 09:00:00Z/);
});

test("the grid is walked with the arrow keys, and one stop of Tab", async (t) => {
  const { open } = await start(t);
  const { page } = await open("/audit");
  const focused = () =>
    page.evaluate<string>("document.activeElement.getAttribute('aria-label')?.replace(/:.*/s, '') ?? ''");
  assert.equal(await page.locator('#heat button[tabindex="0"]').count(), 1);
  await page.locator('#heat button[tabindex="0"]').focus();
  assert.equal(await focused(), "orders, 00");
  for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"]) await page.keyboard.press(key);
  assert.equal(await focused(), "payments, 01");
  await page.keyboard.press("End");
  assert.equal(await focused(), "payments, 23");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Home");
  assert.equal(await focused(), "orders, 00");
  await page.keyboard.press("Enter");
  assert.match((await page.locator("#hour-title").textContent()) ?? "", /^orders, 00:00 to 01:00: complete$/);
  assert.equal(await page.evaluate<string>("document.activeElement.id"), "hour-title");
});

test("days are chosen, with their zone, and kept in the address; a day of 23 hours has so many columns", async (t) => {
  const short: AuditDay = {
    ...{ date: "2026-03-29", timeZone: "Europe/Berlin", answer: "yes", auditLag: 0, brokersClock: true },
    ...{ from: "2026-03-28T23:00:00.000Z", to: "2026-03-29T22:00:00.000Z", topics: [] },
  };
  const day = { ...short, topics: [auditedTopic("orders", short, { completeTo: short.to })] };
  const { open, audit } = await start(t, () => day);
  const page = await open("/audit?date=2026-03-29&tz=Europe%2FBerlin");
  assert.deepEqual(audit.asked, ["2026-03-29 Europe/Berlin"]);
  assert.equal(await page.text("#answer-text"), "Yes");
  assert.equal(await page.page.locator("#heat-rows button").count(), 23);
  assert.match(await page.text("#clock-text"), /a day of 23 hours; all origins have passed its end/);
  const heads = await page.page.locator("#heat-head th").allTextContents();
  assert.deepEqual(heads.slice(0, 5), ["Topic", "00", "01", "03", "04"], "02 was left out");
  await page.page.locator("#day-before").click();
  await until("the day before is asked for", () => audit.asked.at(-1) === "2026-03-28 Europe/Berlin");
  assert.match(page.page.url(), /\?date=2026-03-28&tz=Europe%2FBerlin$/);
  await page.page.locator("#zone").fill("Asia/Kathmandu");
  await page.page.keyboard.press("Enter");
  await until("the other zone is asked for", () => /Asia\/Kathmandu$/.test(audit.asked.at(-1) ?? ""));
  await page.page.goBack();
  await until("and the one before", () => /Europe\/Berlin$/.test(audit.asked.at(-1) ?? ""));
});

test("where nothing is audited the page says how to begin; what a topic is called is text", async (t) => {
  const { open } = await start(t, () => {
    throw new LabError("TABLE_NOT_FOUND", "there is no table audit that tells what was sent", {
      hint: "`lab produce --audit audit` says it, and `lab ingest --topic audit` writes it",
    });
  });
  const page = await open("/audit", { bypassCSP: true, width: 360 });
  await until("the answer", async () => (await page.text("#answer-text")) === "Nothing is audited yet");
  assert.match(await page.text("#answer-why"), /^There is no table audit that tells what was sent\. /);
  const commands = await page.page.locator("#way code").allTextContents();
  assert.deepEqual(commands, ["lab produce --audit audit", "lab ingest --topic audit"]);
  for (const part of ["#notice", "#heat", "#origins", "#clock"])
    assert.equal(await page.page.locator(part).isVisible(), false, part);
  assert.deepEqual(await seriousFindings(page.page), []);
  assert.equal(await page.overflow(), 0);
  const evil = '<img src=x onerror="document.title=1">';
  const { open: openOther } = await start(t, () => {
    const day = auditDay(NOON);
    return { ...day, topics: [auditedTopic(evil, day, { completeTo: day.to })] };
  });
  const other = await openOther("/audit");
  assert.match(await other.text("#heat-rows"), /<img src=x/);
  assert.equal(await other.page.title(), "Audit - Delta Stream Lab");
  assert.deepEqual(other.complaints, []);
});

test("axe finds nothing serious, light and dark, wide and at 360 px, where nothing runs over", async (t) => {
  const { open } = await start(t);
  for (const theme of ["light", "dark"] as const)
    for (const width of [1280, 360]) {
      const page = await open("/audit?topic=payments&hour=2026-05-04T04%3A00%3A00.000Z", {
        ...{ theme, width, bypassCSP: true },
      });
      assert.deepEqual(await seriousFindings(page.page), [], `${theme} ${width}`);
      assert.equal(await page.overflow(), 0, `${theme} ${width}`);
      if (process.env.LAB_SCREENSHOTS)
        await page.page.screenshot({
          path: `${process.env.LAB_SCREENSHOTS}/audit-${theme}-${width}.png`,
          fullPage: true,
        });
    }
});

test("the pages lead to each other", async (t) => {
  const { open, origin } = await start(t);
  const page = await open("/audit");
  await page.page.getByRole("link", { name: "Tables" }).click();
  await page.showsVersion((version) => version === 12);
  await page.page.getByRole("link", { name: "Audit" }).click();
  await until("the page of audits", () => page.page.url() === `${origin}/audit`);
});
