/** Many streams in one process: opens what they need, runs them, closes it again. */

import { asLabError, isLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { retry } from "../core/retry.ts";
import { probePutIfAbsent } from "../delta/store/probe.ts";
import type { Store } from "../delta/store/store.ts";
import type { Encoder } from "../engine/encoder.ts";
import type { Decoder } from "../formats/decoder.ts";
import type { Admin, Kafka } from "../kafka/ports.ts";
import { createDestination } from "./destination.ts";
import type { StreamMetrics } from "./metrics.ts";
import type { StreamOptions } from "./options.ts";
import type { CommitStep } from "./publish-input.ts";
import { createReport, type Report, type StreamReport } from "./report.ts";
import { withRights } from "./rights.ts";
import type { RowReader } from "./row-reader.ts";
import { createStream, type Stream } from "./stream.ts";
import { appending, type Work } from "./work.ts";

export type IngestDeps = {
  kafka: Kafka;
  openStore: (uri: string) => Promise<Store>;
  encoder: Encoder;
  rowReader: RowReader;
  /** What the stream does with its messages; absent: each becomes a row. */
  workFor?: (stream: StreamOptions) => Work;
  /** What reads the stream's format; null where the encoder reads messages as they are. */
  decoderFor: (stream: StreamOptions) => Promise<Decoder | null>;
  metricsFor: (labels: { topic: string; table: string }) => StreamMetrics;
  /** Told of each table that a stream writes, when it is about to, by its URI; perhaps more than once. */
  onTable: (stream: StreamOptions, uri: string) => void;
  log: Log;
  now: () => number;
  onStep: (step: CommitStep) => void;
};

export type IngestOptions = {
  streams: readonly StreamOptions[];
  /** How long the first contact with a store may take, in ms; afterwards outages are waited out. */
  connectTimeoutMs: number;
  /** Raw bytes encoded together, and raw bytes of the whole process that may wait uncommitted. */
  chunkBytes: number;
  budgetBytes: number;
  /** How long a stop waits for a store that is away, in ms; default 10 s. */
  stopGraceMs?: number;
  /** How long a stream may stand still with records to read before the process ends, in ms; default 2 min. */
  stallMs?: number;
};

const STOP_GRACE_MS = 10_000;
const STALL_MS = 120_000;

export type Ingest = {
  /**
   * Ends when every stream has ended. A stream that cannot go on ends alone, is logged and reported as failed, and the others go on; a bug
   * ends them all, each once it has settled what it holds. Rejects with a bug, else with the first failure, which names the others.
   */
  run(signal: AbortSignal): Promise<void>;
  reports(): StreamReport[];
};

/** What `lab produce` can send that is of the stream's format. */
function sourceFor({ format }: StreamOptions): string {
  if (format === "json" || format === "ndjson") return "FILE.ndjson, or --source orders for an example";
  if (format === "text" || format === "bytes") return "dummy, which is text";
  return `-, which sends each line that it reads; or write ${format} to it by a program of your own`;
}

type Failure = { stream: StreamOptions; error: LabError };

/** An error of one stream among several says of which, and what ended the others. */
function withOthers(first: Failure, all: readonly Failure[]): LabError {
  const { code, message, hint, details, cause } = first.error;
  const told = ({ stream, error }: Failure) => `${stream.topic}: ${error.message} (${error.code})`;
  const others = all.filter((one) => one !== first).map(told);
  if (others.length === 0) return first.error;
  const text = `${all.length} streams ended: ${first.stream.topic}: ${message}; ${others.join("; ")}`;
  return new LabError(code, text, {
    ...(hint === undefined ? {} : { hint }),
    details: { ...details },
    cause,
  });
}

type Entry = { stream: StreamOptions; report: Report };

/** Prepares the streams; nothing is opened before `run`. */
export function createIngest(options: IngestOptions, deps: IngestDeps): Ingest {
  function tellOfFailure({ topic, tableUri }: StreamOptions, { code, message, hint }: LabError): void {
    if (options.streams.length === 1) return;
    deps.log.error({ event: "failed", topic, table: tableUri, code, hint }, `the stream ended: ${message}`);
  }
  const entries = options.streams.map((stream) => ({ stream, report: createReport(stream, deps.now) }));

  async function start({ stream, report }: Entry, admin: Admin, signal: AbortSignal): Promise<void> {
    if ((await admin.partitions(stream.topic)) === null) {
      throw new LabError("TOPIC_MISSING", `topic ${stream.topic} does not exist`, {
        hint: `make it by producing: lab produce --topic ${stream.topic} --source ${sourceFor(stream)}`,
      });
    }
    const lettersUri = `${stream.tableUri}__dead_letters`;
    const work = deps.workFor?.(stream) ?? appending;
    const stores = {
      rows: await deps.openStore(stream.tableUri),
      letters: await deps.openStore(lettersUri),
      open: deps.openStore,
    };
    let running: Stream | null = null;
    const onTable = (uri: string) => deps.onTable(stream, uri);
    for (const uri of [stream.tableUri, lettersUri, `${lettersUri}_state`]) onTable(uri);
    const destination = createDestination(stream, stores, {
      onRouted: onTable,
      onStep: deps.onStep,
      onOutage: (error, pauseMs) => running?.storeOutage(error, pauseMs),
    });
    try {
      await retry(() => destination.refresh(signal), { signal, deadlineMs: options.connectTimeoutMs });
      // A file system's link(2) is known to be atomic; of an object store that is found out before it is trusted.
      if (stores.rows.localPath === undefined) await probePutIfAbsent(stores.rows, signal);
      const share = 1 / options.streams.length;
      const created = createStream(stream, {
        ...deps,
        admin,
        destination,
        report,
        decoder: await deps.decoderFor(stream),
        work,
        metrics: deps.metricsFor({ topic: stream.topic, table: stream.tableUri }),
        chunkBytes: Math.max(1 << 20, Math.floor(options.chunkBytes * share)),
        budgetBytes: Math.max(4 << 20, Math.floor(options.budgetBytes * share)),
        stopGraceMs: options.stopGraceMs ?? STOP_GRACE_MS,
        stallMs: options.stallMs ?? STALL_MS,
      });
      running = created;
      const stop = () => created.stop();
      signal.addEventListener("abort", stop, { once: true });
      try {
        if (!signal.aborted) await created.run();
      } finally {
        signal.removeEventListener("abort", stop);
      }
    } finally {
      await work.close();
      await destination.close();
    }
  }

  return {
    async run(signal) {
      const admin = await deps.kafka.admin();
      const failure = new AbortController();
      const either = AbortSignal.any([signal, failure.signal]);
      try {
        const failures: Failure[] = [];
        await Promise.all(
          entries.map((entry) =>
            start(entry, admin, either).catch((error: unknown) => {
              // Stopped before it had begun.
              if (either.aborted && error === either.reason) return;
              const failed = withRights(asLabError(error), entry.stream);
              failures.push({ stream: entry.stream, error: failed });
              entry.report.failed(failed);
              if (failed.code === "INTERNAL") failure.abort(failed);
              else tellOfFailure(entry.stream, failed);
            }),
          ),
        );
        const first = failures.find(({ error }) => isLabError(error, "INTERNAL")) ?? failures[0];
        if (first !== undefined) throw withOthers(first, failures);
      } finally {
        await admin.close();
      }
    },
    reports: () => entries.map(({ report }) => report.read()),
  };
}
