/** Writes the page and its charts. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { pageRecords, performancePage } from "./page.ts";
import { pageCharts } from "./page-charts.ts";
import { readResults } from "./results.ts";

/** From a file of results into a folder with docs; resolves with the paths of what it wrote. USAGE without a result to tell of. */
export async function writePage(results: string, docs: string): Promise<string[]> {
  const records = pageRecords(await readResults(results));
  if (records.length === 0)
    throw new LabError("USAGE", `${results} has no result that the page tells of`, {
      hint: "lab bench ingest --results FILE adds one",
    });
  const images = join(docs, "images");
  await mkdir(images, { recursive: true });
  const files = {
    [join(docs, "performance.md")]: performancePage(records),
    ...Object.fromEntries(
      Object.entries(pageCharts(records)).map(([name, svg]) => [join(images, name), svg] as const),
    ),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(file, text);
  return Object.keys(files);
}
