/**
 * The pictures of the README, taken of a real run: a lab is started, a table lives through an optimize and a new column, and the page is looked at.
 *
 *   node --import tsx test/screenshots.ts [folder]      docs/images unless given
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { type LabRun, startLab } from "./support/lab.ts";
import { type DashboardPage, openBrowser, openPage, type PageOptions } from "./support/page.ts";
import { until } from "./support/until.ts";

const folder = process.argv[2] ?? fileURLToPath(new URL("../docs/images", import.meta.url));
const PATIENCE = { deadlineMs: 300_000, everyMs: 500 };
const WIDE = { width: 1360, height: 900 };

const browser = await openBrowser();
const data = await mkdtemp(join(tmpdir(), "lab-pictures-"));
const run = startLab(["up", "--kafka", "jvm", "--port", "0", "--kafka-port", "0"], { cwd: data });
try {
  const { origin, searchParams } = new URL((await run.printed(/dashboard +(http:\S+)/, 300_000))[1] ?? "");
  await prepare(run, browser, `${origin}/t/orders/break?token=${searchParams.get("token")}`);
  const latest = await versionOf(browser, `${origin}/t/orders`);
  await take(`${origin}/t/orders?version=${latest - 4}`, "dashboard.png", WIDE);
  await take(`${origin}/t/orders/compare?from=${latest - 6}&to=${latest - 2}`, "dashboard-dark.png", {
    ...WIDE,
    theme: "dark",
  });
  await take(`${origin}/t/orders`, "dashboard-narrow.png", { width: 390, height: 900 });
} finally {
  await browser.close();
  run.child.kill("SIGINT");
  await run.ended;
  await rm(data, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** Some versions, a change of the schema by a button of the page, an optimize, and some versions more. */
async function prepare(lab: LabRun, on: Browser, address: string): Promise<void> {
  await lab.printed(/produce-orders/, 300_000);
  const page = await openPage(on, address);
  const newer = async (than: number) =>
    until(`version ${than}`, async () => ((await page.version()) ?? 0) >= than, PATIENCE);
  await newer(12);
  const button = (name: string) => page.page.getByRole("button", { name }).first();
  await button("Change the schema").click();
  await newer(((await page.version()) ?? 0) + 8);
  await page.page.getByRole("tab", { name: "Upkeep" }).click();
  await button("Optimize").click();
  await until("the optimize", async () => /Optimize took/.test(await page.text(".jobs")), PATIENCE);
  await newer(((await page.version()) ?? 0) + 10);
  await page.close();
}

async function versionOf(on: Browser, address: string): Promise<number> {
  const page = await openPage(on, address);
  const version = await page.showsVersion(() => true, 60_000);
  await page.close();
  return version;
}

/** Once the ledger is counted and what the address names is shown. */
async function take(address: string, name: string, options: PageOptions): Promise<void> {
  const page = await openPage(browser, address, options);
  await page.showsVersion(() => true, 60_000);
  await until(
    "a whole page",
    async () =>
      /Nothing lost/.test(await page.text("#ledger-verdict")) &&
      /checkpoint/.test(await page.text("#legend")) &&
      (await looksAt(page)) > 15 &&
      (!/compare/.test(address) || /added/.test(await page.text("#view-compare"))),
    PATIENCE,
  );
  await page.page.screenshot({ path: join(folder, name) });
  await page.close();
}

/** Looks at the flow so far: rates need some. */
async function looksAt({ page }: DashboardPage): Promise<number> {
  const points = await page.locator(".spark polyline").first().getAttribute("points");
  return (points ?? "").split(" ").length;
}
