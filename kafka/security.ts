/** Who we are to the brokers and whom we trust, in the client's own form; also for connections that are made without it. */

import { type ConnectionOptions, createSecureContext } from "node:tls";
import type { KafkaConfig, Mechanism } from "kafkajs";
import { LabError } from "../core/errors.ts";
import type { KafkaOptions, Sasl, Tls, TokenSource } from "./ports.ts";

/** The client's settings for `sasl` and `ssl`; a new object each time, as the client writes into it. */
export function vendorSecurity({ sasl, tls }: Pick<KafkaOptions, "sasl" | "tls">): Partial<KafkaConfig> {
  return {
    ...(tls === undefined ? {} : { ssl: tlsOptions(tls) }),
    ...(sasl === undefined ? {} : { sasl: vendorSasl(sasl) }),
  };
}

/** For `tls.connect`. */
export function tlsOptions({ ca, client, checkServerName }: Tls): ConnectionOptions {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...client,
    ...(checkServerName ? {} : { checkServerIdentity: () => undefined }),
  };
}

/** CONFIG_INVALID where certificate, key and passphrase do not fit together, or are no PEM: later that would look like an outage. */
export function checkTls(tls: Tls): void {
  try {
    createSecureContext(tlsOptions(tls));
  } catch (cause) {
    const { reason, message } = cause as { reason?: string; message: string };
    throw new LabError("CONFIG_INVALID", `the certificates for Kafka cannot be used: ${reason ?? message}`, {
      hint: "check kafka.ssl: ca, cert and key are PEM, the key is the certificate's, the passphrase the key's",
      cause,
    });
  }
}

/** How the brokers know us, for messages: no secret is in it. */
export function identityOf({ sasl, tls }: Pick<KafkaOptions, "sasl" | "tls">): string {
  if (sasl?.mechanism === "OAUTHBEARER") return "the token's owner";
  if (sasl !== undefined) return `User:${sasl.username}`;
  return tls?.client === undefined ? "User:ANONYMOUS" : "the client certificate's owner";
}

function vendorSasl(sasl: Sasl): NonNullable<KafkaConfig["sasl"]> {
  if (sasl.mechanism === "OAUTHBEARER")
    return { mechanism: "oauthbearer", authenticationProvider: bearer(sasl.token) };
  const { username, password } = sasl;
  switch (sasl.mechanism) {
    case "PLAIN":
      return { mechanism: "plain", username, password };
    case "SCRAM-SHA-256":
      return { mechanism: "scram-sha-256", username, password };
    case "SCRAM-SHA-512":
      return { mechanism: "scram-sha-512", username, password };
  }
}

/**
 * The client's own OAUTHBEARER reads no answer (2.2.4, oauthBearer.js): a token that the broker refuses then looks like one that it took,
 * and the next request fails as if the broker had gone.
 */
function bearer(token: TokenSource): Mechanism["authenticationProvider"] {
  return ({ host, port, saslAuthenticate }) => ({
    async authenticate(): Promise<void> {
      const message = Buffer.from(`n,,\x01auth=Bearer ${await token()}\x01\x01`);
      await saslAuthenticate({
        request: { encode: () => Buffer.concat([lengthOf(message), message]) },
        response: {
          decode: (answer) => answer.subarray(LENGTH_BYTES),
          parse(answer) {
            if (answer.length === 0) return;
            const status = /"status"\s*:\s*"([^"]*)"/.exec(answer.toString("utf8"))?.[1] ?? "no reason given";
            throw new LabError("KAFKA_DENIED", `${host}:${port} refuses the token: ${status}`, {
              hint: "check kafka.sasl: who issues the tokens, their audience and scope, and the clocks",
            });
          },
        },
      });
    },
  });
}

/** Each part of an authentication goes with its length before it. */
const LENGTH_BYTES = 4;

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(message.length);
  return length;
}
