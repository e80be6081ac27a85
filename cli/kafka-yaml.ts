/** The `kafka` section of lab.yaml. */

import { z } from "zod";

const secret = z.string().min(1).describe("The secret; better `env:NAME` or `file:/path`.");
const file = z.string().min(1).describe("A PEM file, or `env:NAME` with its text.");

const Sasl = z.strictObject({
  mechanism: z.enum(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"]),
  username: z.string().min(1).describe("Of PLAIN and SCRAM.").optional(),
  password: secret.optional(),
  tokenEndpoint: z
    .url()
    .describe("Of OAUTHBEARER: where tokens are given for client id and secret.")
    .optional(),
  clientId: z.string().min(1).optional(),
  clientSecret: secret.optional(),
  scope: z.string().min(1).optional(),
  region: z.string().min(1).describe("Of AWS_MSK_IAM; default: AWS_REGION.").optional(),
});

const Ssl = z.strictObject({
  ca: file.describe("Whom to trust, as a PEM file; default: the usual authorities.").optional(),
  cert: file.describe("Our certificate, as a PEM file, for brokers that ask for one.").optional(),
  key: file.describe("Its key, as a PEM file.").optional(),
  passphrase: secret.optional(),
  checkServerName: z.boolean().default(true).describe("Whether the certificate must name the broker's host."),
});

const Registry = z.strictObject({
  url: z.url(),
  username: z.string().min(1).optional(),
  password: secret.optional(),
  token: secret.optional(),
});

export const KafkaYaml = z.strictObject({
  brokers: z.string().min(1).describe("HOST:PORT, several with commas.").optional(),
  sasl: Sasl.optional(),
  ssl: Ssl.describe("Speaks TLS; `{}` trusts the usual authorities.").optional(),
  registry: Registry.describe("The schema registry.").optional(),
});

const SECRETS = ["password", "clientSecret", "passphrase", "token"];

/** Whether what stands at a path of lab.yaml must not be shown, as it is a secret or may hold one. */
export function isSecretPath(path: readonly PropertyKey[], given: unknown): boolean {
  if (path[0] !== "kafka") return false;
  return path.some((part) => SECRETS.includes(String(part))) || typeof given === "object";
}
