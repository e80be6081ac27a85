/** The rung of an address: brokers that somebody else runs. */

import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { canConnect } from "./ports.ts";

/** The parts of `HOST:PORT[,HOST:PORT...]`; an IPv6 host stands in brackets. CONFIG_INVALID for anything else. */
export function parseBrokers(text: string): { host: string; port: number }[] {
  return text.split(",").map((part) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(part.trim());
    const port = Number(match?.[3]);
    if (match === null || port < 1 || port > 65_535) {
      throw new LabError("CONFIG_INVALID", `"${part.trim()}" is no broker address`, {
        hint: "write HOST:PORT, several with commas: --kafka localhost:9092",
      });
    }
    return { host: (match[1] ?? match[2]) as string, port };
  });
}

/** Resolves with the addresses as soon as one of them accepts a connection. BROKER_UNREACHABLE after `timeoutMs`. */
export async function reachBrokers(
  addresses: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string[]> {
  const brokers = parseBrokers(addresses);
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    for (const { host, port } of brokers) {
      if (await canConnect(host, port, Math.min(3000, timeoutMs), signal)) {
        return addresses.split(",").map((part) => part.trim());
      }
    }
    if (Date.now() + 250 > deadline) break;
    await sleep(250, signal);
  }
  throw new LabError("BROKER_UNREACHABLE", `no broker answers at ${addresses} within ${timeoutMs / 1000} s`, {
    hint: "check the address and that the broker runs, or leave --kafka out to start one here",
  });
}
