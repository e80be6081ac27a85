/** What an ingester can be told to do to itself, to prove that it does no harm: only where LAB_CHAOS and a token say so. */

import { spawn } from "node:child_process";
import { z } from "zod";
import { LabError } from "../core/errors.ts";
import type { Orders } from "../core/ops.ts";

export type ProcessOrders = {
  /** Absent: it takes none. */
  orders?: Orders;
  /** Whether it is to die at this step of a commit. */
  isArmed(step: string): boolean;
};

const Arm = z.strictObject({ step: z.enum(["before-upload", "after-upload", "after-commit"]) });
const Freeze = z.strictObject({ seconds: z.number().int().min(1).max(600) });

/** The signal that thaws a process has to come from another one, which outlives a kill of it. The first pause lets the answer go out. */
const FREEZER = 'sleep 0.3; kill -STOP "$1"; sleep "$2"; kill -CONT "$1"';

/** `LAB_CHAOS=1` and `LAB_CHAOS_TOKEN` switch it on. */
export function processOrders(env: NodeJS.ProcessEnv, pid: number = process.pid): ProcessOrders {
  const token = chaosToken(env);
  if (token === null) return { isArmed: () => false };
  let armed: string | null = null;
  return {
    isArmed: (step) => step === armed,
    orders: {
      token,
      async perform(name, body) {
        if (name === "arm") armed = parse(Arm, body).step;
        else if (name === "freeze") {
          const { seconds } = parse(Freeze, body);
          const args = ["-c", FREEZER, "freezer", String(pid), String(seconds)];
          spawn("/bin/sh", args, { stdio: "ignore", detached: true }).unref();
        } else throw new LabError("REQUEST_INVALID", `an ingester cannot ${name}`);
        return { pid };
      },
    },
  };
}

/** Null where chaos is off. */
export function chaosToken(env: NodeJS.ProcessEnv): string | null {
  return env.LAB_CHAOS === "1" && env.LAB_CHAOS_TOKEN ? env.LAB_CHAOS_TOKEN : null;
}

export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new LabError("REQUEST_INVALID", path.length === 0 ? message : `${path.join(".")}: ${message}`);
}
