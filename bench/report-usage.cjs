// Preloaded into measured processes (`NODE_OPTIONS=--require`): at its end, each writes what it used into the folder that LAB_USAGE_DIR names.
const { writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { isMainThread } = require("node:worker_threads");

const folder = process.env.LAB_USAGE_DIR;
if (folder && isMainThread) {
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const usage = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024 };
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(usage));
  });
}
