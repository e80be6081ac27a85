/** `lab down`: ends a lab that runs in another terminal. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { sleep } from "../core/retry.ts";
import { duration } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { lockOwner } from "../services/folder-lock.ts";
import { commandLine, sendSignal } from "../services/process-identity.ts";
import { defineCommand } from "./command.ts";

export const down = defineCommand({
  name: "down",
  summary: "Stop the lab that runs on the data folder: flush, commit, end all it started",
  examples: ["lab down", "lab down --data ./other-data"],
  settings: {
    data: SETTINGS.data,
    wait: setting<number>({
      flag: "--wait",
      kind: duration,
      default: 60_000,
      description: "how long to wait for its end",
    }),
  },
  seeAlso: ["up", "status", "reset"],
  async run({ screen, common, signal }, { data, wait }) {
    const owner = await lockOwner(data);
    if (owner === null) {
      screen.note(`no lab runs on ${data}`);
      if (common.json) screen.out(`${toJson({ stopped: null }, 2)}\n`);
      return 0;
    }
    sendSignal(owner.pid, "SIGTERM");
    const deadline = Date.now() + wait;
    while ((await commandLine(owner.pid)) === owner.command) {
      if (Date.now() > deadline) {
        throw new LabError(
          "SERVICE_FAILED",
          `the lab (pid ${owner.pid}) has not ended within ${wait / 1000} s`,
          {
            hint: `kill -9 ${owner.pid}: all it started ends with it, and nothing that was committed is lost`,
          },
        );
      }
      await sleep(100, signal);
    }
    screen.note(`stopped the lab (pid ${owner.pid})`);
    if (common.json) screen.out(`${toJson({ stopped: { pid: owner.pid } }, 2)}\n`);
    return 0;
  },
});
