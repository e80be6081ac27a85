/** A real broker with every way in that a secured one has: SASL in the clear and under TLS, tokens, client certificates, ACLs. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import kafkajs, { type Admin } from "kafkajs";
import { cacheFolder } from "../../core/cache-folder.ts";
import { LabError } from "../../core/errors.ts";
import { findJava } from "../../services/java.ts";
import { startJvmBroker } from "../../services/kafka-jvm.ts";
import { freePort } from "../../services/ports.ts";
import { type Certificate, createAuthority } from "./certificates.ts";

/** Names of the listeners. */
const LISTENERS = {
  /** PLAIN and SCRAM in the clear. */
  SASL: "SASL_PLAINTEXT",
  /** PLAIN and SCRAM-SHA-512 under TLS. */
  SASLTLS: "SASL_SSL",
  /** OAUTHBEARER, unsecured tokens. */
  OAUTH: "SASL_PLAINTEXT",
  /** Client certificates. */
  MTLS: "SSL",
  /** A certificate that has expired. */
  STALE: "SSL",
  /** A certificate for another host. */
  OTHER: "SSL",
} as const;

export type ListenerName = keyof typeof LISTENERS;

export type SecureBroker = {
  /** In the clear; whoever comes here may do everything. */
  open: string[];
  address(listener: ListenerName): string[];
  /** Passwords by user: `admin` may everything, `alice` and `mallory` what ACLs say. */
  passwords: Readonly<Record<"admin" | "alice" | "mallory", string>>;
  /** The authority that signed the broker's certificates; and one that did not. */
  ca: string;
  strangerCa: string;
  /** A client certificate of `alice`, and one that the broker does not trust. */
  alice: Certificate;
  stranger: Certificate;
  /** Kafka's own admin calls, for ACLs. */
  admin: Admin;
  close(): Promise<void>;
};

const { signal } = new AbortController();

export async function startSecureBroker(): Promise<SecureBroker> {
  const folder = await mkdtemp(join(tmpdir(), "lab-secure-"));
  const names = Object.keys(LISTENERS) as ListenerName[];
  const ports = new Map<ListenerName, number>();
  for (const name of names) ports.set(name, await freePort());
  const passwords = { admin: "admin-pw-91c2", alice: "alice-pw-5d7e", mallory: "mallory-pw-3f" };

  const authority = await createAuthority(folder, "lab-ca");
  const strange = await createAuthority(folder, "strange-ca");
  const [own, stale, other, alice, stranger] = await Promise.all([
    authority.issue({ name: "broker" }),
    authority.issue({ name: "broker", isExpired: true }),
    authority.issue({ name: "broker", hosts: ["DNS:elsewhere.example"] }),
    authority.issue({ name: "alice" }),
    strange.issue({ name: "alice" }),
  ]);
  const trusted = join(folder, "trusted.pem");
  await writeFile(trusted, authority.ca);
  const keystore = async (name: string, { cert, key }: Certificate) => {
    const file = join(folder, `${name}.keystore.pem`);
    await writeFile(file, key + cert);
    return {
      [`listener.name.${name}.ssl.keystore.type`]: "PEM",
      [`listener.name.${name}.ssl.keystore.location`]: file,
    };
  };

  const plain = "org.apache.kafka.common.security.plain.PlainLoginModule required";
  const users = Object.entries(passwords).map(([name, password]) => `user_${name}="${password}"`);
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const sasl = (listener: string, mechanisms: string[]) => ({
    [`listener.name.${listener}.sasl.enabled.mechanisms`]: mechanisms.join(","),
    [`listener.name.${listener}.plain.sasl.jaas.config`]: `${plain} ${users.join(" ")};`,
    ...Object.fromEntries(
      mechanisms
        .filter((mechanism) => mechanism.startsWith("SCRAM"))
        .map((mechanism) => [`listener.name.${listener}.${mechanism.toLowerCase()}.sasl.jaas.config`, scram]),
    ),
  });
  const config = {
    ...sasl("sasl", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
    ...sasl("sasltls", ["PLAIN", "SCRAM-SHA-512"]),
    "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.oauth.oauthbearer.sasl.jaas.config":
      "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    ...(await keystore("sasltls", own)),
    ...(await keystore("mtls", own)),
    ...(await keystore("stale", stale)),
    ...(await keystore("other", other)),
    "listener.name.mtls.ssl.client.auth": "required",
    "listener.name.mtls.ssl.truststore.type": "PEM",
    "listener.name.mtls.ssl.truststore.location": trusted,
    "listener.name.mtls.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
  };

  const java = await findJava(signal);
  if (java === null) throw new LabError("SERVICE_UNAVAILABLE", "Java does not run");
  const broker = await startJvmBroker({
    ...{ java, cacheDir: cacheFolder(), dataDir: join(folder, "broker"), port: 0, config, signal },
    listeners: names.map((name) => ({
      name,
      protocol: LISTENERS[name],
      port: ports.get(name) as number,
    })),
    scramUsers: Object.entries(passwords).flatMap(([name, password]) =>
      ["SCRAM-SHA-256", "SCRAM-SHA-512"].map((kind) => `${kind}=[name=${name},password=${password}]`),
    ),
    say: () => {},
  });
  const open = [`127.0.0.1:${broker.port}`];
  const admin = new kafkajs.Kafka({ brokers: open, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  return {
    ...{ open, passwords, ca: authority.ca, strangerCa: strange.ca, alice, stranger, admin },
    address: (listener) => [`127.0.0.1:${ports.get(listener)}`],
    async close() {
      await admin.disconnect();
      await broker.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
