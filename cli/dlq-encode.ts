/** How letters of a topic become rows: as its stream in lab.yaml says, and flags over it. */

import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { SETTINGS, type Values } from "../core/settings.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { EncodeLetters } from "../letters/encode.ts";
import type { Context } from "./command.ts";
import { FORMAT_SETTINGS } from "./format-options.ts";
import { REGISTRY, registryAccess } from "./registry-settings.ts";
import { type ConfiguredStream, STREAM_SETTINGS, streamOptions, tableUriOf } from "./stream-options.ts";
import type { WORK } from "./work-settings.ts";

/** Settings of the stream that matter to its letters; those of lab.yaml are laid under them. */
export const ENCODING = {
  transform: {
    ...STREAM_SETTINGS.transform,
    defaultText: "the stream's",
    description: "replay: SQL over the messages, or a file with it, instead of the stream's",
  },
  ...FORMAT_SETTINGS,
  onUnknownField: STREAM_SETTINGS.onUnknownField,
  ...REGISTRY,
  app: SETTINGS.app,
} as const;

type EncodingValues = Values<typeof ENCODING> & Values<typeof WORK>;

/** The caller closes it. What a topic's letters take is opened with the first of them. */
export async function openEncoding(work: {
  context: Pick<Context, "env" | "lab" | "signal">;
  values: EncodingValues;
  /** Of the table. */
  uri: string;
}): Promise<{ encode: EncodeLetters; close(): Promise<void> }> {
  const { context, values, uri } = work;
  const access = registryAccess(values, context.env);
  // Loaded here: what is above can fail without DuckDB's encoder and the formats.
  const { openEncoder } = await import("../columnar/open-encoder.ts");
  const { encodeAsStream } = await import("../letters/stream-encode.ts");
  const { openDecoder } = await import("../formats/open-decoder.ts");
  const { createRegistry } = await import("../formats/registry.ts");
  const registry = access === undefined ? null : createRegistry(access);
  await mkdir(values.scratch, { recursive: true });
  const stagingDir = await mkdtemp(join(values.scratch, "lab-dlq-"));
  const encoder = await openEncoder({ stagingDir, memoryLimitBytes: values.memory, threads: 1 });
  const streams = new Map<string, EncodeLetters>();

  async function open(topic: string): Promise<EncodeLetters> {
    const stream = streamOf(topic, uri, values, context.lab);
    const { wire, schema = null } = stream;
    const decoder = await openDecoder(wire, { registry, columns: schema }, context.signal);
    const isOtherTransform = values.transform !== undefined;
    return encodeAsStream({ encoder, decoder, stream, isOtherTransform });
  }

  return {
    async encode(batch, table, signal) {
      const encode = streams.get(table.topic) ?? (await open(table.topic));
      streams.set(table.topic, encode);
      return encode(batch, table, signal);
    },
    async close() {
      await encoder.close();
      await rm(stagingDir, { recursive: true, force: true });
    },
  };
}

/** The stream that brings a topic to this table: that of lab.yaml if there is one, and the flags over it. */
function streamOf(
  topic: string,
  uri: string,
  values: Values<typeof ENCODING> & { store: string },
  lab: Context["lab"],
): ConfiguredStream {
  const isOurs = (stream: { topic: string; table?: string | undefined }) =>
    stream.topic === topic && tableUriOf(stream.table ?? tableNameOf(topic), values.store) === uri;
  const ours = lab && { ...lab, streams: lab.streams.filter(isOurs) };
  const defaults = Object.fromEntries(
    Object.entries(STREAM_SETTINGS).map(([name, one]) => [name, one.default]),
  );
  const asked = { ...(defaults as Values<typeof STREAM_SETTINGS>), ...values, topic, table: uri };
  const transform = values.transform === undefined ? undefined : sqlOf(values.transform);
  const [stream] = streamOptions({ ...asked, transform }, ours);
  return stream!;
}

/** SQL as it is, or what the file of that name holds. */
function sqlOf(text: string): string {
  return existsSync(text) ? readFileSync(text, "utf8") : text;
}
