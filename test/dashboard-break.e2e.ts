/** Break it, on a lab as a user starts it: each fault is real, shows what it did with the new pid, and loses nothing. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type LabToBreak, startLabToBreak } from "./support/lab-to-break.ts";
import { openPage, seriousFindings } from "./support/page.ts";
import { until } from "./support/until.ts";

/** What a fault must have shown once it is over. */
const FAULTS = [
  ["Kill before upload", /dies by SIGKILL at before-upload.* is back as pid \d+, was pid \d+/s],
  ["Kill after upload", /dies by SIGKILL at after-upload.* is back as pid \d+, was pid \d+/s],
  ["Kill after commit", /dies by SIGKILL at after-commit.* is back as pid \d+, was pid \d+/s],
  ["Freeze the ingester", /froze ingest \(SIGSTOP\), pid \d+.*does not answer/s],
  ["Stop the broker", /stopped the broker, pid \d+/],
  ["Send poison", /sent 5 bad messages: .*orders-\d from offset.*5 letters/s],
  ["Start a second worker", /started ingest-worker-\d+, pid \d+.*joins as pid/s],
  ["Change the schema", /sent 3 messages with the field extra_\d+.*version \d/s],
  ["Burst of 100,000", /sent 100,000 messages.*caught up, lag at most [\d,]+/s],
] as const;

let lab: LabToBreak;
before(async () => {
  lab = await startLabToBreak();
});
after(() => lab.close());

test("each fault says what should happen, does it to the real lab, shows what did, and the ledger stays whole", async (t) => {
  const page = await lab.openBreak();
  t.after(page.close);
  assert.doesNotMatch(page.page.url(), /token/, "the token leaves the address");
  const card = (title: string) => page.page.locator(".cards li", { hasText: title });
  const runs = page.page.locator(".did article");
  const canBe = (title: string) =>
    until(
      `${title} to be possible`,
      async () => (await card(title).locator("button").first().getAttribute("aria-disabled")) === null,
      { deadlineMs: 240_000 },
    );

  await until("a reason", async () =>
    /local folder: there is no connection to cut/.test(
      await card("Cut the store").textContent().then(String),
    ),
  );
  for (const [n, [title, shows]] of FAULTS.entries()) {
    await canBe(title);
    assert.match((await card(title).textContent())!, /Should: ./);
    await card(title).locator("button").first().click();
    await until(
      `${title} to be over`,
      async () => {
        const isThere = (await runs.count()) === n + 1;
        const text = (await runs.first().textContent()) ?? "";
        const isOver = isThere && /Nothing lost, nothing doubled/.test(text);
        if (!isOver) throw new Error(text || (await page.text("#view-break .problem")));
        return true;
      },
      { deadlineMs: 240_000, everyMs: 500 },
    );
    assert.match((await runs.first().innerHTML()).replace(/<[^>]*>/g, "\n"), shows, title);
  }
  assert.match(await page.text("#break-verdict"), /Nothing lost, nothing doubled/);

  const checked = await openPage(lab.browser, `${lab.origin}/t/orders/break`, {
    width: 360,
    theme: "dark",
    bypassCSP: true,
  });
  t.after(checked.close);
  await until("the runs", async () => (await checked.page.locator(".did article").count()) === FAULTS.length);
  assert.deepEqual(await seriousFindings(checked.page), []);
  assert.ok((await checked.overflow()) <= 0);

  await canBe("Reset");
  await card("Reset").locator("button").first().click();
  await page.page.getByLabel("Type reset").fill("reset");
  await page.page.getByRole("button", { name: "Delete all" }).click();
  await until(
    "the fresh lab",
    async () => {
      const text = (await runs.first().textContent()) ?? "";
      if (/deleted .*orders/.test(text) && /Nothing lost/.test(text)) return true;
      throw new Error(text || (await page.text("#view-break .problem")));
    },
    { deadlineMs: 240_000, everyMs: 500 },
  );
  assert.deepEqual(
    page.complaints.filter((line) => !/status of (4|5)\d\d/.test(line)),
    [],
  );
});

test("without the token nothing is broken, and the page says how to get it", async (t) => {
  const page = await openPage(lab.browser, `${lab.origin}/t/orders/break`);
  t.after(page.close);
  const button = page.page.locator(".cards button", { hasText: "Send poison" });
  await until("the button", async () => (await button.getAttribute("aria-disabled")) === null, {
    deadlineMs: 120_000,
  });
  await button.click();
  await until("the refusal", async () =>
    /token is missing.*open the link.*Nothing was broken/is.test(await page.text("#view-break .problem")),
  );
});
