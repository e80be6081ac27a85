/** The log of a command, as whoever reads its stderr wants it: sentences on a terminal, JSON elsewhere. */

import type { Log } from "../core/log.ts";
import type { Context } from "./command.ts";

/** See `Context.openLog`; `name` is the command's. */
export async function openLog(
  name: string,
  { screen, common }: Pick<Context, "screen"> & { common: { verbose: boolean; json: boolean } },
  clear: () => void = () => screen.draw(""),
): Promise<Log> {
  // Loaded here because most commands log nothing, and the logger takes a while to load.
  const { createLog } = await import("../core/log.ts");
  if (common.verbose) return createLog(name, { level: "debug" });
  if (common.json || !screen.isNoteLive) return createLog(name, { level: "info" });
  const { logForPeople } = await import("./log-for-people.ts");
  return createLog(name, { level: "warn", to: logForPeople(screen, clear) });
}
