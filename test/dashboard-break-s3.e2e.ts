/** Cut the store, on a lab whose tables are in S3: the ingester pauses for as long, goes on by itself, and nothing is lost. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type LabToBreak, startLabToBreak } from "./support/lab-to-break.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";
import { until } from "./support/until.ts";

const DEADLINE = { deadlineMs: 240_000, everyMs: 300 };

let lab: LabToBreak;
before(async () => {
  const s3 = await sharedS3();
  lab = await startLabToBreak(["--store", `s3://${s3.bucket}/tables`], s3Env(s3));
});
after(() => lab.close());

test("cut off from S3 the ingester pauses and says why, the page goes on reading, and healed it catches up without loss", async (t) => {
  const page = await lab.openBreak();
  t.after(page.close);
  const card = page.page.locator(".cards li", { hasText: "Cut the store" });
  const cut = card.locator("button").first();
  await until(
    "the fault to be possible",
    async () => (await cut.getAttribute("aria-disabled")) === null,
    DEADLINE,
  );
  const ingester = page.page.locator("#stations li").nth(2);
  await until(
    "a stream that runs",
    async () => ((await page.version()) ?? 0) > 1 && (await ingester.getAttribute("data-condition")) === "ok",
    DEADLINE,
  );
  const before = await page.version();
  await cut.click();
  await until(
    "the pause",
    async () => {
      const [condition, text] = [await ingester.getAttribute("data-condition"), await ingester.textContent()];
      if (condition !== "paused") throw new Error(`${condition}: ${text}`);
      return /paused: .*/.test(text ?? "");
    },
    DEADLINE,
  );
  assert.match(await page.text("#connection"), /Connected/, "the page's own way to the store is not cut");
  assert.equal(await page.text("#tables-note"), "");
  const told = page.page.locator(".did article").first();
  await until(
    "the end",
    async () => {
      const text = (await told.textContent()) ?? "";
      if (/is paused/.test(text) && /Nothing lost, nothing doubled/.test(text)) return true;
      throw new Error(text || (await page.text("#view-break .problem")));
    },
    DEADLINE,
  );
  assert.match((await told.textContent())!, /cut the ingester's connections to S3 for 15 s/);
  await until("newer versions", async () => ((await page.version()) ?? 0) > (before ?? 0), DEADLINE);
  await until("the flow", async () => (await ingester.getAttribute("data-condition")) === "ok", DEADLINE);
});
