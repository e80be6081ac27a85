// Shifts the wall clock of the process that is started with `--import` of this file by the milliseconds that the file named in
// LAB_CLOCK_SKEW holds, from when it holds them. What a process measures with the monotonic clock is left alone, as a real step does.
import { readFileSync } from "node:fs";

const RealDate = Date;
const realNow = Date.now.bind(Date);
let skewMs = 0;
setInterval(() => {
  try {
    skewMs = Number(readFileSync(process.env.LAB_CLOCK_SKEW, "utf8")) || 0;
  } catch {
    // no step yet
  }
}, 100).unref();

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(realNow() + skewMs);
    else super(...args);
  }
  static now() {
    return realNow() + skewMs;
  }
};
