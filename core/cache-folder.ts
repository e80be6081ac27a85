/** Where things that are fetched or built once per user are kept between runs. */

import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_CACHE_HOME/delta-stream-lab`, or the same below `~/.cache`. Not made by this call. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "delta-stream-lab");
}
