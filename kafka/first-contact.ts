/** The first contact with the brokers: waited for, and where it does not come about, why. */

import { isLabError, LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { BrokerAccess } from "./broker-access.ts";
import { unreachable } from "./failures.ts";
import type { KafkaOptions } from "./ports.ts";
import { probeListener } from "./probe.ts";
import { within } from "./within.ts";

/** How often it is looked whether the port speaks something else, in ms. */
const LOOK_MS = 1_000;

/**
 * Waits until some broker answers, for `connectTimeoutMs` at most. BROKER_UNREACHABLE; KAFKA_TLS and KAFKA_DENIED at once, where a port
 * speaks otherwise than it is spoken to.
 */
export async function firstContact(
  access: BrokerAccess,
  kafka: KafkaOptions,
  signal?: AbortSignal,
): Promise<void> {
  const stopping = new AbortController();
  const either = signal === undefined ? stopping.signal : AbortSignal.any([stopping.signal, signal]);
  const limitMs = kafka.connectTimeoutMs;
  try {
    const answer = retry(() => access.ping(), { signal: either, maxMs: 1_000, deadlineMs: limitMs });
    const misfit = untilMisfit(kafka, either);
    if ((await Promise.race([within(limitMs, answer), misfit])) === "late")
      throw unreachable("no answer in time", undefined, kafka);
  } catch (error) {
    await within(limitMs, access.close());
    throw (await explain(error, kafka, either)) ?? error;
  } finally {
    stopping.abort();
  }
}

/** Rejects once a port is found to speak otherwise; pends while it is not. */
async function untilMisfit(kafka: KafkaOptions, signal: AbortSignal): Promise<"late"> {
  for (;;) {
    await sleep(LOOK_MS, signal);
    const found = await findMisfit(kafka);
    if (found !== null) throw found;
  }
}

/** The broker's own word for a mechanism it lacks does not say which it has. */
async function explain(error: unknown, kafka: KafkaOptions, signal: AbortSignal): Promise<LabError | null> {
  const isSaslWord = isLabError(error, "KAFKA_DENIED") && kafka.sasl !== undefined;
  return isSaslWord && !signal.aborted ? findMisfit(kafka) : null;
}

/** How a port's speech and ours differ, by the first broker that answers; null where they do not. */
export async function findMisfit(kafka: KafkaOptions): Promise<LabError | null> {
  for (const address of kafka.brokers) {
    const listener = await probeListener(address, kafka.tls?.client);
    if (listener === null) continue;
    if (listener.isTls !== (kafka.tls !== undefined))
      return listener.isTls
        ? new LabError("KAFKA_TLS", `${address} speaks TLS, and we spoke in the clear`, {
            hint: "set kafka.ssl in lab.yaml, or --kafka-tls on",
          })
        : new LabError("KAFKA_TLS", `${address} speaks in the clear, and we spoke TLS`, {
            hint: "give the address of the broker's TLS listener, or leave kafka.ssl and the --kafka-tls flags out",
          });
    return saslMisfit(address, kafka, listener.mechanisms);
  }
  return null;
}

function saslMisfit(
  address: string,
  { sasl }: KafkaOptions,
  offered: readonly string[] | null | undefined,
): LabError | null {
  if (offered === undefined) return null;
  if (offered === null)
    return sasl === undefined
      ? null
      : new LabError("KAFKA_DENIED", `${address} takes no SASL`, {
          hint: "give the address of its SASL listener, or leave kafka.sasl out",
        });
  const list = offered.join(", ");
  if (sasl === undefined)
    return new LabError("KAFKA_DENIED", `${address} wants to know who calls, by SASL ${list}`, {
      hint: "set kafka.sasl in lab.yaml, or --kafka-sasl and --kafka-username",
    });
  if (offered.includes(sasl.mechanism)) return null;
  return new LabError("KAFKA_DENIED", `${address} does not offer SASL ${sasl.mechanism}, but ${list}`, {
    hint: "set kafka.sasl.mechanism to one that it offers",
  });
}
