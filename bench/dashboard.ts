/** How fast the page is over a table of thousands of versions, in a real Chromium: until it is painted, and while it is scrubbed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { LabError } from "../core/errors.ts";
import { programPath } from "../core/program.ts";
import { chromiumPath } from "./chromium.ts";
import { makeDashboardTable } from "./dashboard-table.ts";
import { percentile } from "./percentiles.ts";
import { type Spread, spread } from "./spread.ts";

export type DashboardBenchOptions = {
  commits: number;
  rounds: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type DashboardBenchResult = {
  commits: number;
  rounds: number;
  /** Width and height of the window. */
  window: readonly [number, number];
  /** From the request for the page, each in a fresh profile: first contentful paint; the newest version named and drawn; its rows shown. */
  load: { paintMs: Spread; timelineMs: Spread; rowsMs: Spread };
  /**
   * Dragging over all versions, to and fro, for `seconds`: another version in each frame. The CPU time of the page's main thread for a frame, of
   * the 16.7 ms that a screen gives it, says more than frames do where others want the machine too.
   */
  drag: { seconds: number; framesPerSecond: Spread; frameMs95: Spread; mainThreadMs: Spread };
  /** To versions anywhere in the history, after the cursor rested: from the key to the version's number painted, and to its rows. */
  jump: { versionMs: Spread; rowsMs: Spread; rowsMs95: Spread };
  /** Step by step, one version at a time, each as soon as the rows of the one before are there. */
  step: { rowsMs: Spread; rowsMs95: Spread };
};

const WINDOW = [1440, 900] as const;
const DRAG_SECONDS = 4;
const JUMPS = 40;
const STEPS = 40;
const DEADLINE_MS = 60_000;

/** CONFIG_INVALID where there is no Chromium. */
export async function benchDashboard(options: DashboardBenchOptions): Promise<DashboardBenchResult> {
  const { commits, rounds, say, signal } = options;
  const browser = await openBrowser();
  const store = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    say(`writing a table of ${commits.toLocaleString("en")} commits`);
    await makeDashboardTable(join(store, "orders"), commits, signal);
    const served = await serve(store, signal);
    try {
      const found: Round[] = [];
      // The first one only warms the server up.
      for (let round = 0; round <= rounds; round++) {
        say(round === 0 ? "warming up" : `round ${round} of ${rounds}`);
        const one = await measure(browser, served.address, { commits, round }, signal);
        if (round > 0) found.push(one);
      }
      return { commits, rounds, window: WINDOW, ...summary(found) };
    } finally {
      await served.close();
    }
  } finally {
    await browser.close();
    await rm(store, { recursive: true, force: true });
  }
}

type Round = {
  load: { paintMs: number; timelineMs: number; rowsMs: number };
  drag: { framesPerSecond: number; frameMs95: number; mainThreadMs: number };
  jumps: Shown[];
  steps: Shown[];
};

/** From a key to the number of the version, and to its rows. */
type Shown = { versionMs: number; rowsMs: number };

function summary(rounds: readonly Round[]): Pick<DashboardBenchResult, "load" | "drag" | "jump" | "step"> {
  const of = (pick: (round: Round) => number) => spread(rounds.map(pick));
  const rows = (all: readonly { rowsMs: number }[]) => all.map(({ rowsMs }) => rowsMs);
  return {
    load: {
      paintMs: of(({ load }) => load.paintMs),
      timelineMs: of(({ load }) => load.timelineMs),
      rowsMs: of(({ load }) => load.rowsMs),
    },
    drag: {
      seconds: DRAG_SECONDS,
      framesPerSecond: of(({ drag }) => drag.framesPerSecond),
      frameMs95: of(({ drag }) => drag.frameMs95),
      mainThreadMs: of(({ drag }) => drag.mainThreadMs),
    },
    jump: {
      versionMs: spread(rounds.flatMap(({ jumps }) => jumps.map(({ versionMs }) => versionMs))),
      rowsMs: spread(rounds.flatMap(({ jumps }) => rows(jumps))),
      rowsMs95: of(({ jumps }) => percentile(rows(jumps), 0.95)),
    },
    step: {
      rowsMs: spread(rounds.flatMap(({ steps }) => rows(steps))),
      rowsMs95: of(({ steps }) => percentile(rows(steps), 0.95)),
    },
  };
}

async function openBrowser(): Promise<Browser> {
  try {
    const { chromium } = await import("playwright-core");
    return await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu"] });
  } catch (cause) {
    throw new LabError("CONFIG_INVALID", `no Chromium starts at ${chromiumPath}`, {
      hint: "install it, or say where it is with LAB_CHROMIUM",
      cause,
    });
  }
}

/** `lab dashboard` as a process of its own, without a broker: its part of the page says so, and no more. */
async function serve(
  store: string,
  signal: AbortSignal,
): Promise<{ address: string; close(): Promise<void> }> {
  const args = [
    "dashboard",
    "--store",
    store,
    "--data",
    store,
    "--port",
    "0",
    "--kafka",
    "127.0.0.1:1",
    "--json",
  ];
  const child = spawn(process.execPath, [programPath("lab"), ...args], {
    cwd: store,
    stdio: ["ignore", "pipe", "ignore"],
    signal,
  });
  const ended = once(child, "close");
  let said = "";
  for await (const piece of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    said += piece;
    if (/"address": "[^"]+"/.test(said)) break;
  }
  const address = /"address": "([^"]+)"/.exec(said)?.[1];
  if (address === undefined)
    throw new LabError("INTERNAL", `the dashboard did not start: ${said.slice(-500)}`);
  return {
    address: new URL("/t/orders", address).href,
    async close() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function measure(
  browser: Browser,
  address: string,
  { commits, round }: { commits: number; round: number },
  signal: AbortSignal,
): Promise<Round> {
  const context = await browser.newContext({ viewport: { width: WINDOW[0], height: WINDOW[1] } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    await page.addInitScript(WATCH);
    await page.goto(address);
    const load = {
      timelineMs: await page.evaluate<number>(`lab.seen("#version-line", /^Version ${commits} /, 0)`),
      rowsMs: await page.evaluate<number>(`lab.rowsOf(${commits}, 0)`),
      paintMs: await page.evaluate<number>(
        `performance.getEntriesByName("first-contentful-paint")[0].startTime`,
      ),
    };
    signal.throwIfAborted();
    const drag = await dragAlong(page);
    const jumps: Round["jumps"] = [];
    // Others in each round, as the server remembers some of those it has shown.
    for (let n = round * JUMPS; n < (round + 1) * JUMPS; n++) {
      signal.throwIfAborted();
      jumps.push(await jumpTo(page, Math.floor(((n * 0.6180339) % 1) * commits)));
    }
    const steps: Round["steps"] = [];
    const middle = Math.max(Math.floor(commits / 2) - round * STEPS, STEPS);
    await jumpTo(page, middle);
    for (let n = 1; n <= STEPS; n++) steps.push(await stepTo(page, middle - n));
    return { load, drag, jumps, steps };
  } finally {
    await context.close();
  }
}

/** To and fro over the whole strip, with all versions in it: in each frame the handle is somewhere else, as under a fast mouse. */
async function dragAlong(page: Page): Promise<Round["drag"]> {
  await page.locator("#zoom-all").click();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const frames = await page.evaluate<number[]>(`lab.drag(${DRAG_SECONDS * 1000})`);
  const { metrics } = await devtools.send("Performance.getMetrics");
  await devtools.detach();
  const busy = metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  await page.locator("#zoom-all").click();
  const seconds = frames.reduce((sum, ms) => sum + ms, 0) / 1_000;
  return {
    framesPerSecond: frames.length / seconds,
    frameMs95: percentile(frames, 0.95),
    mainThreadMs: (busy * 1_000) / frames.length,
  };
}

async function jumpTo(page: Page, version: number): Promise<Shown> {
  await page.locator("#goto-version").fill(String(version));
  return pressed(page, "#goto-version", "Enter", version);
}

const stepTo = (page: Page, version: number): Promise<Shown> =>
  pressed(page, "#scrubber", "ArrowLeft", version);

/** Timed from the key as the page hears of it. */
async function pressed(page: Page, place: string, key: string, version: number): Promise<Shown> {
  await page.evaluate(`void (lab.going = lab.goesTo(${version}))`);
  await page.locator(place).press(key);
  return page.evaluate<Shown>("lab.going");
}

/** Runs in the page: times are the page's own, taken in the frame that shows what is waited for. */
const WATCH = `globalThis.lab = {
  seen: (places, text, from) => new Promise((resolve, reject) => {
    const until = performance.now() + ${DEADLINE_MS};
    const look = () => {
      const said = [...document.querySelectorAll(places)].map((place) => place.textContent);
      if (said.some((words) => text.test(words))) resolve(performance.now() - from);
      else if (performance.now() > until) reject(new Error("the page shows " + said + " for " + text));
      else requestAnimationFrame(look);
    };
    look();
  }),
  rowsOf: (version, from) =>
    lab.seen("#view-rows :is(.foot, .empty)", new RegExp("version " + version + "$"), from),
  goesTo: (version) => new Promise((resolve) => {
    addEventListener("keydown", async (event) => {
      const from = event.timeStamp;
      const versionMs = lab.seen("#version-line", new RegExp("^Version " + version + " "), from);
      const rowsMs = lab.rowsOf(version, from);
      resolve({ versionMs: await versionMs, rowsMs: await rowsMs });
    }, { once: true, capture: true });
  }),
  drag: (forMs) => new Promise((resolve) => {
    const slider = document.querySelector("#scrubber");
    const [min, max] = [Number(slider.min), Number(slider.max)];
    const frames = [];
    let began;
    let last;
    const frame = (now) => {
      began ??= now;
      if (last !== undefined) frames.push(now - last);
      last = now;
      if (now - began > forMs) return resolve(frames);
      slider.value = String(Math.round(min + Math.abs(((now - began) % 2000) / 1000 - 1) * (max - min)));
      slider.dispatchEvent(new Event("input"));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }),
};`;
