/** A process that brings an S3 server up, prints where it is, and waits to be killed: `s3-child.ts DATA_DIR RUNG`. */

import { silentLog } from "../../core/log.ts";
import { bringUpS3 } from "../../services/s3.ts";

const [dataDir, rung] = process.argv.slice(2) as [string, "docker" | "go"];
const { signal } = new AbortController();
const { endpoint, pid } = await bringUpS3({ dataDir, port: 0, log: silentLog, signal, rungs: [rung] });
process.stdout.write(`${JSON.stringify({ endpoint, pid })}\n`);
setInterval(() => {}, 60_000);
