/** `lab status`: what runs on the data folder, once. */

import { toJson } from "../core/ops.ts";
import { SETTINGS } from "../core/settings.ts";
import { alertsOf, sampleOf } from "../dashboard/alerts.ts";
import type { Part } from "../dashboard/control.ts";
import { lockOwner } from "../services/folder-lock.ts";
import type { PartStatus } from "../services/supervisor.ts";
import { defineCommand } from "./command.ts";
import { readAlerts, readParts, readSupervisor } from "./lab-state.ts";
import { statusLines } from "./status-lines.ts";

export const status = defineCommand({
  name: "status",
  summary: "Show what runs: each stream's state, rate, lag, last commit and error; alerts",
  examples: ["lab status", "lab status --json", "watch -n 1 lab status"],
  settings: { data: SETTINGS.data },
  seeAlso: ["up", "doctor"],
  async run({ screen, common, signal }, { data }) {
    const owner = await lockOwner(data);
    const supervised = owner === null ? null : await readSupervisor(data, { signal });
    const parts = await readParts(data, { signal });
    const nowMs = Date.now();
    // Without a dashboard, which looks over time, there is what one look tells.
    const alerts = (await readAlerts(data, { signal })) ?? alertsOf([sampleOf(parts, nowMs)]);
    if (common.json) {
      const all = { running: owner !== null, pid: owner?.pid ?? null, supervised, parts, alerts };
      screen.out(`${toJson(all, 2)}\n`);
      return 0;
    }
    const seen = parts.filter(({ alive }) => alive);
    if (owner === null && seen.length === 0) {
      screen.note(`no lab runs on ${data}; start one with: lab up`);
      return 0;
    }
    const startedMs = owner === null ? Number.NaN : Date.parse(owner.startedAt);
    const view = {
      address: parts.find(({ kind }) => kind === "dashboard")?.address ?? null,
      upMs: Number.isNaN(startedMs) ? null : nowMs - startedMs,
      supervised: supervised ?? seen.map(asSupervised),
      ...{ parts, alerts, nowMs },
      lastLine:
        owner === null
          ? "No supervisor: these run by themselves."
          : `Supervisor: pid ${owner.pid}. Stop with: lab down`,
    };
    const { green, yellow, red } = screen.outColors;
    const colours = { "[ok]": green, "[!]": yellow, "[x]": red, "": (text: string) => text };
    const lines = statusLines(view, {
      columns: screen.isOutLive ? screen.columns() : Number.MAX_SAFE_INTEGER,
      rows: Number.MAX_SAFE_INTEGER,
      paint: (mark, text) => (mark === "" ? text : text.replace(mark, colours[mark](mark))),
    });
    screen.out(`${screen.typed(lines.join("\n"))}\n`);
    return 0;
  },
});

/** A part that runs without a supervisor, such as in containers. */
function asSupervised({ name, kind, pid, address }: Part): PartStatus {
  return { name, kind, pid, address, state: "ready", restarts: 0, lastEnd: null };
}
