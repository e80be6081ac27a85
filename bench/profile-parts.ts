/** From a V8 CPU profile to the parts of the ingester, and from the CPU time of threads to a table that adds up. Pure. */

/** As V8 writes it: a tree of frames, and which was on top at each sample. Times are in microseconds. */
export type CpuProfile = {
  nodes: readonly {
    id: number;
    callFrame: { functionName: string; url: string };
    children?: readonly number[];
  }[];
  samples: readonly number[];
  timeDeltas: readonly number[];
};

/** CPU seconds of the threads of a process by kind, and of all of it, threads that have ended included. */
export type ThreadSeconds = {
  main: number;
  /** V8's own, for garbage and for compiling. */
  v8: number;
  profiler: number;
  /** Of JavaScript, beside the main one. */
  workers: number;
  /** Node's pool, in which DuckDB, zlib and file calls run, and DuckDB's own. */
  native: number;
  total: number;
};

/** What the table says of each part, in its order. */
export const PARTS = {
  startUp: "start-up: loading modules, settings",
  fetch: "fetch: sockets, protocol, group",
  copy: "copy: into one batch, fingerprints",
  decode: "decode: JSON to columns, bad records",
  encode: "encode: columns to Parquet, statistics",
  commit: "commit: files, log, positions",
  garbage: "garbage collection on the main thread",
  other: "other JavaScript",
  loop: "event loop and native calls of the main thread",
  native: "native threads: DuckDB, codecs, file calls",
  v8: "V8's threads: garbage, compiling",
  profiler: "the profiler itself",
  rest: "threads that had ended, rounding",
} as const;
export type Part = keyof typeof PARTS;

/** First match wins; paths are those of the repository, with any folder before and any extension. */
const PLACES: readonly (readonly [RegExp, Part])[] = [
  [/^node:internal\/(modules|process\/esm_loader|bootstrap|main)/, "startUp"],
  [/\/node_modules\/(commander|zod|yaml|pino|prom-client)\//, "startUp"],
  [/\/(cli|bin)\//, "startUp"],
  [/\/node_modules\/kafkajs\//, "fetch"],
  [/\/kafka\//, "fetch"],
  [/\/engine\/(raw-batch|growing-bytes)\./, "copy"],
  [/\/ingest\/(chunk|fingerprint|deferred)\./, "copy"],
  [/\/engine\/(json|text|message|derived|keep-raw|infer)[^/]*$/, "decode"],
  [/\/columnar\/(json|leaf-vector|table-builder|kafka-columns|partition-rows)[^/]*$/, "decode"],
  [/\/(formats|ingest\/decode[^/]*)\b/, "decode"],
  [/\/(columnar|engine)\//, "encode"],
  [/\/ingest\/encode[^/]*$/, "encode"],
  [/\/node_modules\/@duckdb\//, "encode"],
  [/\/delta\//, "commit"],
  [/\/ingest\/(publish|writer|resume|route|letters|destination|maintenance|tell-commit)[^/]*$/, "commit"],
  [/^node:(net|tls|internal\/(stream_base_commons|streams))/, "fetch"],
];

const partAt = (url: string): Part | undefined => PLACES.find(([place]) => place.test(url))?.[1];

/**
 * Seconds by part of the time in which the thread was not idle. Time in a function of Node or of a library counts for the nearest caller
 * that is of a part; all that runs below the loader of modules is start-up.
 */
export function secondsByPart(profile: CpuProfile): Map<Part, number> {
  const partOf = new Map<number, Part | null>();
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const visit = (id: number, above: Part | undefined): void => {
    const { callFrame, children = [] } = byId.get(id)!;
    const own = above === "startUp" ? above : (partAt(callFrame.url) ?? above);
    partOf.set(id, special(callFrame.functionName) ?? own ?? "other");
    if (callFrame.functionName === "(idle)") partOf.set(id, null);
    for (const child of children) visit(child, own);
  };
  const root = profile.nodes[0];
  if (root !== undefined) visit(root.id, undefined);
  const seconds = new Map<Part, number>();
  for (const [n, sample] of profile.samples.entries()) {
    const part = partOf.get(sample);
    if (part) seconds.set(part, (seconds.get(part) ?? 0) + (profile.timeDeltas[n + 1] ?? 0) / 1e6);
  }
  return seconds;
}

function special(functionName: string): Part | undefined {
  if (functionName === "(garbage collector)") return "garbage";
  return functionName === "(program)" ? "loop" : undefined;
}

/**
 * CPU seconds by part, of all parts and in their order; they add up to `threads.total`. What samples say of a thread is scaled to the CPU time
 * that it had, as a thread that waits for a core is sampled too. CPU of workers that have ended is known as the rest of the total.
 */
export function profileTable(
  main: CpuProfile,
  workers: readonly CpuProfile[],
  threads: ThreadSeconds,
): Map<Part, number> {
  const table = new Map<Part, number>(Object.keys(PARTS).map((part) => [part as Part, 0]));
  const add = (part: Part, seconds: number) => table.set(part, (table.get(part) ?? 0) + seconds);
  const spread = (shares: Map<Part, number>, seconds: number) => {
    const all = [...shares.values()].reduce((sum, share) => sum + share, 0);
    if (all === 0) add("rest", seconds);
    else for (const [part, share] of shares) add(part, (share / all) * seconds);
  };
  const { v8, profiler, native, total } = threads;
  const ended = total - threads.main - v8 - profiler - threads.workers - native;
  spread(secondsByPart(main), threads.main);
  const ofWorkers = new Map<Part, number>();
  for (const worker of workers)
    for (const [part, seconds] of secondsByPart(worker))
      ofWorkers.set(part, (ofWorkers.get(part) ?? 0) + seconds);
  spread(ofWorkers, threads.workers + (workers.length > 0 ? ended : 0));
  add("v8", v8);
  add("profiler", profiler);
  add("native", native);
  if (workers.length === 0) add("rest", ended);
  return table;
}
