// Preloaded into a profiled process (`NODE_OPTIONS=--require`), on Linux: at its end, writes the CPU time of its threads, by kind, to the file that
// LAB_THREADS_FILE names.
const { appendFileSync, readdirSync, readFileSync, readlinkSync, writeFileSync } = require("node:fs");
const { isMainThread } = require("node:worker_threads");

const file = process.env.LAB_THREADS_FILE;
const TICKS_PER_SECOND = 100;

function threads() {
  return readdirSync("/proc/self/task").flatMap((id) => {
    try {
      const stat = readFileSync(`/proc/self/task/${id}/stat`, "utf8");
      const end = stat.lastIndexOf(")");
      const fields = stat.slice(end + 2).split(" ");
      const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
      return [{ id, name: stat.slice(stat.indexOf("(") + 1, end), seconds }];
    } catch {
      return []; // It has just ended.
    }
  });
}

if (file && !isMainThread)
  appendFileSync(`${file}.workers`, `${readlinkSync("/proc/thread-self").split("/").at(-1)}\n`);
if (file && isMainThread) {
  appendFileSync(`${file}.workers`, "");
  // Before any of our code runs: what is there now is V8's, for garbage and for compiling.
  const early = new Set(threads().map(({ id }) => id));
  process.on("exit", () => {
    const workers = new Set(readFileSync(`${file}.workers`, "utf8").split("\n"));
    const kindOf = ({ id, name }) => {
      if (id === String(process.pid)) return "main";
      if (name.startsWith("v8:Prof")) return "profiler";
      if (workers.has(id)) return "workers";
      return early.has(id) ? "v8" : "native";
    };
    const kinds = { main: 0, v8: 0, profiler: 0, workers: 0, native: 0 };
    for (const thread of threads()) kinds[kindOf(thread)] += thread.seconds;
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(file, JSON.stringify({ ...kinds, total: (userCPUTime + systemCPUTime) / 1e6 }));
  });
}
