/** The dashboard as a user meets it: steps and looks that tests of the page share. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumPath } from "../../bench/chromium.ts";
import { until } from "./until.ts";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath, args: FLAGS });

export type PageOptions = {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  /** Only for injecting test code: the page itself must work without. */
  bypassCSP?: boolean;
};

export type DashboardPage = Awaited<ReturnType<typeof openPage>>;

/** Opens an address of the dashboard in a fresh profile and waits until a version is shown. */
export async function openPage(browser: Browser, address: string, options: PageOptions = {}) {
  const { width = 1280, height = 900, theme = "light", bypassCSP = false } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, bypassCSP });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A refused policy is told on the console; a lost connection is, too, and tests cut connections on purpose.
    if (message.type() === "error" && !message.text().includes("net::ERR")) complaints.push(message.text());
  });
  await despiteNetworkChange(() => page.goto(address));
  /** `complaints`: errors of scripts and of the content policy so far. */
  const opened = { page, complaints, close: () => context.close() };
  return Object.assign(opened, looks(page), steps(page));
}

function looks(page: Page) {
  const text = async (selector: string) => (await page.locator(selector).textContent()) ?? "";
  return {
    text,
    /** The version that the line above the timeline names; null before there is one. */
    async version() {
      const number = /^Version (\d+)/.exec(await text("#version-line"))?.[1];
      return number === undefined ? null : Number(number);
    },
    /** The version whose rows are in the table of rows, or of which it says that it has none. */
    async versionOfRows() {
      const said = (await text("#view-rows .foot")) || (await text("#view-rows .empty"));
      const number = /version (\d+)$/.exec(said)?.[1];
      return number === undefined ? null : Number(number);
    },
    /** The first row of the table of rows, cell by cell. */
    firstRow: () => page.locator("#view-rows tbody tr:not(.spacer)").first().locator("td").allTextContents(),
    /** What the chart says it shows. */
    chartFinding: async () => (await page.locator("#chart").getAttribute("aria-label")) ?? "",
    /** The chart as it is painted. */
    chartPixels: () => page.evaluate<string>("document.querySelector('#chart').toDataURL()"),
    /** The colour behind everything, as the browser computed it. */
    background: () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor"),
    /** Which versions the timeline shows, both ends included. */
    async window() {
      const [min, max] = await page
        .locator("#scrubber")
        .evaluate((element) => [Number(element.getAttribute("min")), Number(element.getAttribute("max"))]);
      return { min: min!, max: max! };
    },
    /** The timeline as it is painted. */
    stripPixels: () => page.evaluate<string>("document.querySelector('#strip-canvas').toDataURL()"),
    /** How much of the page moved without the user's doing, as browsers score it, since it was loaded. */
    layoutShift: () =>
      page.evaluate<number>(`new Promise((resolve) => new PerformanceObserver((list) =>
        resolve(list.getEntries().reduce((sum, entry) => sum + (entry.hadRecentInput ? 0 : entry.value), 0)),
      ).observe({ type: "layout-shift", buffered: true }), setTimeout(() => resolve(0), 500))`),
    /** Pixels by which the page is wider than the window. */
    overflow: () =>
      page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
  };
}

/** Chromium breaks off what it loads when an interface of the machine comes or goes, as with each container. */
async function despiteNetworkChange(load: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await load();
      return;
    } catch (error) {
      if (tries === 5 || !String(error).includes("ERR_NETWORK_CHANGED")) throw error;
    }
  }
}

function steps(page: Page) {
  const slider = page.locator("#scrubber");
  return {
    reload: () => despiteNetworkChange(() => page.reload()),
    /** Waits until version and rows on the page agree with `is`. */
    async showsVersion(is: (version: number) => boolean, deadlineMs = 15_000) {
      const { version, versionOfRows } = looks(page);
      return until(
        "the version on the page",
        async () => {
          const shown = await version();
          return shown !== null && is(shown) && (await versionOfRows()) === shown && [shown];
        },
        { deadlineMs },
      ).then(([shown]) => shown!);
    },
    /** The address follows once the cursor rests. */
    async isAt(address: RegExp) {
      await until(`the address ${address}`, async () => address.test(page.url()));
    },
    /** Presses a key on the timeline. */
    async press(key: string, times = 1) {
      await slider.focus();
      for (let n = 0; n < times; n++) await page.keyboard.press(key);
    },
    /** Drags the handle of the timeline to a share of its width. */
    async dragTo(share: number) {
      const box = (await slider.boundingBox())!;
      const at = (s: number) => [box.x + 22 + s * (box.width - 44), box.y + box.height / 2] as const;
      const [min, max, value] = await slider.evaluate((element) => {
        const { min, max, value } = element as unknown as { min: string; max: string; value: string };
        return [Number(min), Number(max), Number(value)] as const;
      });
      await page.mouse.move(...at((value - min) / Math.max(1, max - min)));
      await page.mouse.down();
      await page.mouse.move(...at(share), { steps: 8 });
      await page.mouse.up();
    },
  };
}

/** What axe-core finds serious or critical, one line each. Wants a page opened with `bypassCSP`. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  });
}

type Axe = {
  run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
};
