/** When the tables of a stream are cared for: `upkeep` of lab.yaml, or `--upkeep`. */

import { duration, type Kind } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import type { Chore, Intervals } from "../upkeep/schedule.ts";
import type { LabYaml } from "./lab-yaml.ts";

const CHORES: readonly Chore[] = ["optimize", "vacuum", "cleanup", "rollup"];

/** What `lab up` does where nothing else is said. */
export const UPKEEP_DEFAULT = "optimize=1h,vacuum=24h,cleanup=24h,rollup=1h";

/** `off`, or `optimize=1h,vacuum=24h,cleanup=24h,rollup=1h`: what is not named is not done. */
export const upkeepKind: Kind<Intervals> = {
  placeholder: "chore=interval,...|off",
  show: (intervals) =>
    Object.entries(intervals)
      .map(([chore, ms]) => `${chore}=${duration.show(ms)}`)
      .join(",") || "off",
  parse(value) {
    if (value === "off") return {};
    const intervals: Partial<Record<Chore, number>> = {};
    for (const part of value.split(",")) {
      const [chore = "", interval = ""] = part.trim().split("=");
      if (!CHORES.includes(chore as Chore))
        throw new Error(`names ${chore}, which is none of ${CHORES.join(", ")}`);
      const ms = duration.parse(interval);
      if (ms < 1000) throw new Error("has an interval below a second");
      intervals[chore as Chore] = ms;
    }
    return intervals;
  },
};

/** `--upkeep`, of the commands that ingest. */
export function upkeepSetting(defaultText: string) {
  return setting<Intervals | undefined>({
    flag: "--upkeep",
    streamKey: "upkeep",
    kind: upkeepKind,
    default: undefined,
    defaultText,
    description:
      "how often tables are cared for, by one worker at a time: optimize=1h,vacuum=24h,cleanup=24h,rollup=1h",
  });
}

/** The intervals of the stream of `topic`: the flag, else the stream's own words over the defaults of lab.yaml, else none. */
export function upkeepOf(topic: string, flag: Intervals | undefined, lab: LabYaml | null): Intervals {
  if (flag !== undefined) return flag;
  const stream = lab?.streams.find((one) => one.topic === topic);
  const spoken = { ...lab?.defaults?.upkeep, ...stream?.upkeep };
  return Object.fromEntries(
    Object.entries(spoken).flatMap(([chore, interval]) =>
      interval === "off" ? [] : [[chore, duration.parse(String(interval))]],
    ),
  );
}

/** Whether lab.yaml says anything of upkeep. */
export function speaksOfUpkeep(lab: LabYaml): boolean {
  return lab.defaults?.upkeep !== undefined || lab.streams.some((stream) => stream.upkeep !== undefined);
}
