/** The project's own test files, as paths from its root. */

import { readdirSync } from "node:fs";

/** Those whose path contains one of `words`; all where there are none. */
export function testFilesIn(root: string, words: readonly string[]): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(test|it|e2e)\.ts$/.test(path) && !/^(node_modules|dist|lab-data)\//.test(path))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)));
}
