/** The end of a service's log: what it says when it is ready, and why it failed. */

import { open } from "node:fs/promises";

/** Size of a log now, 0 where there is none: the place from which to watch what a new start appends. */
export async function logSize(path: string): Promise<number> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return 0;
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** What was appended since `from` (a size in bytes), at most the last 64 KiB of it. */
export async function readLogSince(path: string, from: number): Promise<string> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return "";
  try {
    const { size } = await file.stat();
    const start = Math.max(size < from ? 0 : from, size - 65_536);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    await file.read(bytes, 0, bytes.length, start);
    return bytes.toString("utf8");
  } finally {
    await file.close();
  }
}

/** The last `count` lines that are not empty. */
export function lastLines(text: string, count: number): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-count);
}

/** Of the lines that say what went wrong the last `count`; where none does, the last lines of all. */
export function tellingLines(text: string, count: number): string[] {
  const lines = text
    .split("\n")
    .filter((line) => /\b(ERROR|FATAL|Caused by|Exception in)\b|^\S*(Exception|Error): /.test(line));
  const known = new Set<string>();
  const fresh = lines.filter((line) => {
    const said = line.replace(/^\S+ /, "");
    return !known.has(said) && known.add(said);
  });
  return fresh.length > 0 ? fresh.slice(-count) : lastLines(text, count);
}
