/**
 * One opening of the open benchmark, a process of its own: `open-child.ts TABLE start|open|list` writes one line of JSON: how long it took once
 * everything was loaded, and what the whole process used. `follow` opens, tells what the open table holds in memory, and looks for new commits
 * at each line that comes in.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";

const [folder, step] = process.argv.slice(2) as [string, "start" | "open" | "list" | "follow"];
const { signal } = new AbortController();

if (step === "follow") await follow();
else {
  const startedMs = performance.now();
  let files = 0;
  if (step !== "start") {
    const snapshot = await (await openTable(await openStore(folder, { signal }), signal)).latest(signal);
    files = snapshot.numFiles;
    if (step === "list") {
      files = 0;
      // A file's statistics may stay packed until they are read.
      for (const { stats } of snapshot.files()) if (stats !== undefined) files++;
    }
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage();
  say({ files, seconds, cpuSeconds: (user + system) / 1e6, peakBytes: peakBytes() });
}

async function follow(): Promise<void> {
  const store = await openStore(folder, { signal });
  const read = { bytes: 0 };
  const before = heldBytes();
  const table = await openTable(counting(store, read), signal);
  say({ heldBytes: heldBytes() - before });
  for await (const _ of createInterface({ input: process.stdin })) {
    read.bytes = 0;
    const startedMs = performance.now();
    const { version } = await table.latest(signal);
    say({ version, ms: performance.now() - startedMs, bytesRead: read.bytes });
  }
}

/** Run with `--expose-gc`. */
function heldBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function counting(store: Store, read: { bytes: number }): Store {
  return {
    ...store,
    async get(path, waiting) {
      const bytes = await store.get(path, waiting);
      read.bytes += bytes.length;
      return bytes;
    },
  };
}

/** Of this program alone: what the system counts for a process begins with the copy of its parent that it was. */
function peakBytes(): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // Only Linux tells.
  }
  return process.resourceUsage().maxRSS * 1024;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
