/** Settings of commands that open Kafka: where the brokers are, who we are to them, whom we trust. */

import { LabError } from "../core/errors.ts";
import { choice, type Kind, named, onOff } from "../core/setting-kinds.ts";
import { isReference, SETTINGS, type Setting, setting, type Values } from "../core/settings.ts";
import type { KafkaOptions, Sasl, Tls } from "../kafka/ports.ts";
import { findBrokers } from "./find-kafka.ts";
import type { LabYaml } from "./lab-yaml.ts";
import { readSecret, readText } from "./secret.ts";

const MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] as const;
type Mechanism = (typeof MECHANISMS)[number];

/** lab.yaml says true or false. */
const check: Kind<boolean> = {
  ...onOff,
  parse: (value) => onOff.parse(value === "true" ? "on" : value === "false" ? "off" : value),
};

/** Declares one whose variable is KAFKA_ and the flag's rest. */
function own<T>(declared: Omit<Setting<T | undefined>, "env" | "default">): Setting<T | undefined> {
  const env = declared.flag.slice(2).replaceAll("-", "_").toUpperCase();
  return setting<T | undefined>({ ...declared, env, default: undefined } as Setting<T | undefined>);
}

const text = (flag: string, placeholder: string, yaml: string, description: string) =>
  own<string>({ flag, kind: named(placeholder), yaml, description });
const secret = (flag: string, yaml: string, description: string) =>
  own<string>({ flag, kind: named("env:NAME|file:PATH"), yaml, description, isSecret: true });

/** Taken by every command that opens Kafka. */
export const KAFKA = {
  kafka: SETTINGS.kafka,
  kafkaSasl: own<Mechanism>({
    flag: "--kafka-sasl",
    kind: choice(...MECHANISMS),
    yaml: "kafka.sasl.mechanism",
    description: "how we tell the broker who we are",
  }),
  kafkaUsername: text("--kafka-username", "name", "kafka.sasl.username", "user of PLAIN and SCRAM"),
  kafkaPassword: secret("--kafka-password", "kafka.sasl.password", "where the password is"),
  kafkaTokenEndpoint: text(
    "--kafka-token-endpoint",
    "url",
    "kafka.sasl.tokenEndpoint",
    "OAUTHBEARER: where tokens are given for client id and secret",
  ),
  kafkaClientId: text("--kafka-client-id", "id", "kafka.sasl.clientId", "OAUTHBEARER: the client"),
  kafkaClientSecret: secret(
    "--kafka-client-secret",
    "kafka.sasl.clientSecret",
    "OAUTHBEARER: where its secret is",
  ),
  kafkaScope: text("--kafka-scope", "scope", "kafka.sasl.scope", "OAUTHBEARER: the scope to ask for"),
  kafkaRegion: {
    ...text("--kafka-region", "region", "kafka.sasl.region", "AWS_MSK_IAM: the region of the cluster"),
    defaultText: "AWS_REGION",
  },
  kafkaTls: own<boolean>({
    flag: "--kafka-tls",
    kind: onOff,
    defaultText: "on where lab.yaml has kafka.ssl or a certificate is given",
    description: "speak TLS to the broker",
  }),
  kafkaCa: text(
    "--kafka-ca",
    "file",
    "kafka.ssl.ca",
    "PEM file of the authorities to trust instead of the usual",
  ),
  kafkaCert: text("--kafka-cert", "file", "kafka.ssl.cert", "PEM file of our own certificate"),
  kafkaKey: text("--kafka-key", "file", "kafka.ssl.key", "PEM file of its key"),
  kafkaKeyPassphrase: secret(
    "--kafka-key-passphrase",
    "kafka.ssl.passphrase",
    "where the passphrase of that key is",
  ),
  kafkaCheckServerName: own<boolean>({
    flag: "--kafka-check-server-name",
    kind: check,
    yaml: "kafka.ssl.checkServerName",
    defaultText: "on",
    description: "whether the broker's certificate must name its host",
  }),
} as const;

export type KafkaValues = Values<typeof KAFKA>;
type Given = { env: NodeJS.ProcessEnv; lab: LabYaml | null };
/** What `connectKafka` needs besides a name and patience. */
export type KafkaAccess = Pick<KafkaOptions, "brokers" | "sasl" | "tls">;

/**
 * Brokers, identity and trust as the settings say; secrets and certificates are read now. CONFIG_INVALID names the setting that is
 * missing or does not fit.
 */
export async function kafkaAccess(
  values: KafkaValues & { data: string },
  given: Given,
): Promise<KafkaAccess> {
  const brokers = await findBrokers(values.kafka, values.data);
  return { brokers, ...(await kafkaSecurity(values, given)) };
}

/** Who we are and whom we trust, for brokers that are known otherwise. */
export async function kafkaSecurity(
  values: KafkaValues,
  given: Given,
): Promise<Pick<KafkaOptions, "sasl" | "tls">> {
  return { sasl: await saslOf(values, given.env), tls: tlsOf(values, given) };
}

/** The same settings as variables for children, which find files and variables where we do. */
export function kafkaEnv(values: KafkaValues): Record<string, string> {
  const { kafka: _, ...rest } = KAFKA;
  const given = Object.entries(rest).flatMap(([name, one]): [string, string][] => {
    const value = values[name as keyof typeof rest];
    if (value === undefined) return [];
    // What lab.yaml holds itself, the children read there.
    if ("isSecret" in one && one.isSecret && !isReference(String(value))) return [];
    return [[one.env, (one.kind as Kind<unknown>).show(value)]];
  });
  return Object.fromEntries(given);
}

async function saslOf(values: KafkaValues, env: NodeJS.ProcessEnv): Promise<Sasl | undefined> {
  const { kafkaSasl: mechanism } = values;
  if (mechanism === undefined) {
    const stray = (["kafkaUsername", "kafkaPassword", "kafkaClientId", "kafkaTokenEndpoint"] as const).find(
      (name) => values[name] !== undefined,
    );
    if (stray === undefined) return undefined;
    throw new LabError("CONFIG_INVALID", `${KAFKA[stray].yaml} is given, and no mechanism`, {
      hint: `set kafka.sasl.mechanism or --kafka-sasl to one of ${MECHANISMS.join(", ")}`,
    });
  }
  const need = (name: keyof typeof KAFKA): string => {
    const value = values[name];
    if (typeof value === "string") return value;
    throw new LabError("CONFIG_INVALID", `SASL ${mechanism} needs ${KAFKA[name].yaml}`, {
      hint: `set it in lab.yaml, with ${KAFKA[name].flag} or in ${KAFKA[name].env}`,
    });
  };
  const secretOf = (name: "kafkaPassword" | "kafkaClientSecret") =>
    readSecret(need(name), KAFKA[name].yaml ?? name, env);
  if (mechanism === "OAUTHBEARER") {
    const tokenEndpoint = need("kafkaTokenEndpoint");
    if (!/^https?:$/.test(URL.canParse(tokenEndpoint) ? new URL(tokenEndpoint).protocol : ""))
      throw new LabError("CONFIG_INVALID", "kafka.sasl.tokenEndpoint is no http or https URL", {
        hint: "write the URL at which the identity provider gives tokens",
      });
    const { clientCredentials } = await import("../kafka/token.ts");
    const clientId = need("kafkaClientId");
    const clientSecret = secretOf("kafkaClientSecret");
    return {
      mechanism,
      token: clientCredentials({ tokenEndpoint, clientId, clientSecret, scope: values.kafkaScope }),
    };
  }
  if (mechanism === "AWS_MSK_IAM") {
    const region = values.kafkaRegion ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? need("kafkaRegion");
    const { mskIam } = await import("../kafka/msk-iam.ts");
    return { mechanism: "OAUTHBEARER", token: mskIam({ region }) };
  }
  return { mechanism, username: need("kafkaUsername"), password: secretOf("kafkaPassword") };
}

function tlsOf(values: KafkaValues, { env, lab }: Given): Tls | undefined {
  const { kafkaCa: ca, kafkaCert: cert, kafkaKey: key, kafkaKeyPassphrase: passphrase } = values;
  const isAsked = lab?.kafka?.ssl !== undefined || (ca ?? cert ?? key) !== undefined;
  // MSK takes its tokens under TLS alone.
  const isOn = values.kafkaTls ?? (isAsked || values.kafkaSasl === "AWS_MSK_IAM");
  if (!isOn) return undefined;
  if ((cert === undefined) !== (key === undefined))
    throw new LabError("CONFIG_INVALID", "of kafka.ssl.cert and kafka.ssl.key only one is given", {
      hint: "a client certificate needs its key, and the key its certificate",
    });
  return {
    ...(ca === undefined ? {} : { ca: readText(ca, "kafka.ssl.ca", env) }),
    ...(cert === undefined || key === undefined
      ? {}
      : {
          client: {
            cert: readText(cert, "kafka.ssl.cert", env),
            key: readText(key, "kafka.ssl.key", env),
            ...(passphrase === undefined
              ? {}
              : { passphrase: readSecret(passphrase, "kafka.ssl.passphrase", env) }),
          },
        }),
    checkServerName: values.kafkaCheckServerName ?? true,
  };
}
