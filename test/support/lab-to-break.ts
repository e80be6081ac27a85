/** A whole lab as a user starts it, and a browser to break it from. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { startLab } from "./lab.ts";
import { openBrowser, openPage } from "./page.ts";

const STARTED_MS = 240_000;

export type LabToBreak = {
  browser: Browser;
  /** Of the page. */
  origin: string;
  /** The page of stream `orders` that breaks it, with the token. */
  openBreak(): ReturnType<typeof openPage>;
  close(): Promise<void>;
};

/** Resolves when orders flow. `more` are options of `lab up`. */
export async function startLabToBreak(
  more: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<LabToBreak> {
  const browser = await openBrowser();
  const folder = await mkdtemp(join(tmpdir(), "lab-break-"));
  const run = startLab(["up", "--kafka", "jvm", "--port", "0", "--kafka-port", "0", ...more], {
    cwd: folder,
    env,
  });
  async function close(): Promise<void> {
    await browser.close();
    run.child.kill("SIGINT");
    await run.ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
  try {
    const address = (await run.printed(/dashboard +(http:\S+)/, STARTED_MS))[1] ?? "";
    await run.printed(/produce-orders/, STARTED_MS);
    const { origin, searchParams } = new URL(address);
    const openBreak = () =>
      openPage(browser, `${origin}/t/orders/break?token=${searchParams.get("token")}`, { height: 1000 });
    return { browser, origin, openBreak, close };
  } catch (error) {
    await close();
    throw error;
  }
}
