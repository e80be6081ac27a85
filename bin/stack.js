// Stack traces that name the lines of the sources, not of the build.

import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** For code built into `folder`. A map is read when the first stack that needs it is looked at, so it costs nothing before. */
export function mapStacks(folder) {
  const place = pathToFileURL(folder).href.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const built = new RegExp(`(${place}/[^():]+\\.js):(\\d+):(\\d+)`, "g");
  const maps = new Map();
  Error.prepareStackTrace = (error, frames) => {
    const lines = frames.map((frame) => `\n    at ${frame}`);
    return `${headOf(error)}${lines.join("")}`.replace(built, (place, file, line, column) => {
      const entry = mapOf(maps, file)?.findEntry(line - 1, column - 1);
      if (entry?.originalSource === undefined) return place;
      const source = new URL(entry.originalSource, file);
      return `${source.href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  };
}

function headOf(error) {
  try {
    return String(error);
  } catch {
    return "Error";
  }
}

function mapOf(maps, file) {
  if (!maps.has(file)) {
    let map;
    try {
      map = new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, "utf8")));
    } catch {
      // Without it the place in the build is told.
    }
    maps.set(file, map);
  }
  return maps.get(file);
}
