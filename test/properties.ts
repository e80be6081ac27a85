/**
 * `npm run test:properties`: the property tests that need no service, again and again with new seeds, until one fails or time is up.
 *
 *   npm run test:properties -- --minutes 60
 *   npm run test:properties -- delta query      files whose path contains one of the words
 *
 * CI runs each property with one seed, so that a commit that is green stays green; this is where new values are looked for.
 */

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { testFilesIn } from "./support/test-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string", default: "20" } },
});

const files = testFilesIn(root, words)
  .filter((path) => path.endsWith(".test.ts"))
  .filter((path) => readFileSync(join(root, path), "utf8").includes('from "fast-check"'));

const endsAt = Date.now() + Number(flags.minutes) * 60_000;
let rounds = 0;
while (files.length > 0 && Date.now() < endsAt && process.exitCode === undefined) {
  const seed = String(randomInt(2 ** 31));
  const args = [
    "--import=tsx",
    "--import=./test/property-seed.ts",
    "--test",
    "--test-concurrency=2",
    "--test-reporter=dot",
  ];
  const env = { ...process.env, LAB_PROPERTY_SEED: seed };
  const { status } = spawnSync(process.execPath, [...args, ...files], { cwd: root, env, stdio: "inherit" });
  if (status === 0) rounds++;
  else {
    console.error(`LAB_PROPERTY_SEED=${seed} npm test -- --unit repeats it`);
    process.exitCode = 1;
  }
}
console.log(`${files.length} files, ${rounds} rounds without a failure`);
if (files.length === 0) process.exitCode = 1;
