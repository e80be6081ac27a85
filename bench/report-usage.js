// Preloaded into a measured process (`node --import`): at its end, writes what it used to the file that LAB_USAGE_FILE names.
import { writeFileSync } from "node:fs";

const file = process.env.LAB_USAGE_FILE;
if (file) {
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    writeFileSync(
      file,
      JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024 }),
    );
  });
}
