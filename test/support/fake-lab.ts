/** A lab in memory for tests of the dashboard: tables that grow, processes that can fall silent, a broker that can go. */

import { LabError } from "../../core/errors.ts";
import type { LabControl, Part } from "../../dashboard/control.ts";
import type {
  QueryRequest,
  ResultSet,
  TableReader,
  TableSummary,
  VersionDetail,
  VersionEntry,
} from "../../dashboard/tables.ts";

export type FakeLab = {
  tables: TableReader;
  control: LabControl;
  /** Commits one version of `orders` with this many rows, produced just before. */
  commit(rows?: number): void;
  /** Records that are produced and wait. */
  produce(records: number): void;
  rowsAt(version: number): number;
  latest(): number;
  /** What is wrong at the moment; assign to break, set back to heal. */
  faults: {
    brokerGone: boolean;
    storeGone: boolean;
    ingester: "running" | "frozen" | "dead" | "paused";
    unreadableBelow: number;
  };
  queries: QueryRequest[];
};

const PARTITIONS = 3;
const STARTED = Date.parse("2026-11-29T20:00:00.000Z");
const NOTE_SINCE = 5;

/** Starts with `versions` versions of `orders` after version 0, with 100 + 7 x version rows each. */
export function fakeLab(versions = 12): FakeLab {
  const added: number[] = [0];
  const faults: FakeLab["faults"] = {
    brokerGone: false,
    storeGone: false,
    ingester: "running",
    unreadableBelow: 0,
  };
  const queries: QueryRequest[] = [];
  let waiting = 0;
  const latest = () => added.length - 1;
  // An optimize writes rows anew: the table has as many as before.
  const isOptimize = (version: number) => version % 10 === 9;
  const rowsAt = (version: number) =>
    added.slice(0, version + 1).reduce((sum, n, at) => (isOptimize(at) ? sum : sum + n), 0);
  const commit = (rows = 100 + 7 * added.length) => void added.push(rows);
  for (let n = 0; n < versions; n++) commit();

  const timeOf = (version: number) => new Date(STARTED + version * 2_000).toISOString();
  const need = (name: string, version = 0) => {
    if (faults.storeGone) throw new LabError("STORE_UNREACHABLE", "the store does not answer");
    if (name !== "orders" && name !== "my_topic")
      throw new LabError("TABLE_NOT_FOUND", `there is no table ${name}`, { hint: "lab tables lists them" });
    if (version > (name === "orders" ? latest() : 0))
      throw new LabError("VERSION_NOT_FOUND", `${name} has no version ${version}`, {
        hint: `the newest is ${latest()}`,
      });
  };
  const offsetsOf = (version: number) =>
    Array.from({ length: version === 0 ? 0 : PARTITIONS }, (_, partition) => {
      const before = Math.floor(rowsAt(version - 1) / PARTITIONS);
      const last = Math.floor(rowsAt(version) / PARTITIONS) - 1;
      return { topic: "orders", partition, first: String(before), last: String(last) };
    });
  const entry = (name: string, version: number): VersionEntry => ({
    version,
    timestamp: timeOf(version),
    operation: version === 0 ? "CREATE TABLE" : isOptimize(version) ? "OPTIMIZE" : "STREAMING UPDATE",
    rowsAdded: isOptimize(version) ? "0" : String(added[version]),
    rowsRemoved: "0",
    filesAdded: version === 0 ? 0 : PARTITIONS,
    filesRemoved: isOptimize(version) ? 6 : 0,
    bytesAdded: version === 0 ? "0" : String(40_000 + 500 * version),
    bytesRemoved: isOptimize(version) ? "240000" : "0",
    durationMs: version === 0 ? null : 30 + version,
    hasMetadata: version === 0 || version === NOTE_SINCE,
    offsets: name === "orders" && !isOptimize(version) ? offsetsOf(version) : [],
  });
  const fields = (version: number) => [
    { name: "order_id", type: "long", nullable: true },
    { name: "customer", type: "string", nullable: true },
    { name: "country", type: "string", nullable: true },
    { name: "amount", type: "decimal(12,2)", nullable: true },
    { name: "placed_at", type: "timestamp", nullable: true },
    ...(version >= NOTE_SINCE ? [{ name: "note", type: "string", nullable: true }] : []),
    { name: "_kafka", type: "struct<topic: string, partition: integer, offset: long>", nullable: true },
  ];
  const preview = (version: number, limit: number): ResultSet => {
    const columns = fields(version).map(({ name, type }) => ({ name, type }));
    const total = rowsAt(version);
    const rows = Array.from({ length: Math.min(limit, total) }, (_, n) => {
      const id = total - n;
      const place = {
        topic: "orders",
        partition: id % PARTITIONS,
        offset: String(Math.floor(id / PARTITIONS)),
      };
      const note = id % 4 === 0 ? "<b>fragile</b>" : null;
      return [
        String(9_007_199_254_740_993n + BigInt(id)),
        ["Ada Lovelace", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov"][id % 4]!,
        ["NL", "PL", "DE", "SE", "PT"][id % 5]!,
        `${(id * 37) % 900}.${String(id % 100).padStart(2, "0")}`,
        new Date(STARTED + id * 13).toISOString().replace("Z", "000Z"),
        ...(version >= NOTE_SINCE ? [note] : []),
        place,
      ];
    });
    return { columns, rows, truncated: total > limit };
  };

  const tables: TableReader = {
    async tables() {
      if (faults.storeGone)
        throw new LabError("STORE_UNREACHABLE", "the store does not answer", { hint: "is MinIO up?" });
      const summary = (name: string, version: number): TableSummary => ({
        ...{ name, uri: `file:///lab-data/tables/${name}`, id: `id-of-${name}`, version },
        ...{ timestamp: timeOf(version), numFiles: 3 * version, sizeBytes: String(40_000 * version) },
        ...{ rows: name === "orders" ? String(rowsAt(version)) : "0", partitionColumns: [] },
        problem: null,
      });
      return [summary("my_topic", 0), summary("orders", latest())];
    },
    async history(name, { after = -1, before = Number.POSITIVE_INFINITY, limit }) {
      need(name);
      const all = Array.from({ length: (name === "orders" ? latest() : 0) + 1 }, (_, n) => entry(name, n));
      return all
        .filter(({ version }) => after < version && version < before)
        .reverse()
        .slice(0, limit);
    },
    async version(name, version): Promise<VersionDetail> {
      need(name, version);
      const numFiles = PARTITIONS * version;
      return {
        table: name,
        version,
        timestamp: timeOf(version),
        rows: String(rowsAt(version)),
        numFiles,
        sizeBytes: String(40_000 * version),
        partitionColumns: ["country"],
        schema: fields(version),
        files: Array.from({ length: numFiles }, (_, n) => ({
          path: `country=NL/part-${String(n).padStart(5, "0")}-8f2b6d2e.zstd.parquet`,
          sizeBytes: "40000",
          rows: String(Math.floor((added[Math.floor(n / PARTITIONS) + 1] ?? 0) / PARTITIONS)),
          partition: { country: "NL" },
        })),
        properties: { "delta.checkpointInterval": "10" },
        protocol: { minReaderVersion: 1, minWriterVersion: 2, features: [] },
        txns: offsetsOf(version).map((o) => ({ appId: `lab/${o.topic}-${o.partition}`, version: o.last })),
      };
    },
    async rows(name, version, limit) {
      need(name, version);
      if (version < faults.unreadableBelow)
        throw new LabError("DATA_FILE_MISSING", `version ${version} was vacuumed: its files are gone`, {
          hint: `the oldest readable version is ${faults.unreadableBelow}`,
        });
      return name === "orders" ? preview(version, limit) : { columns: [], rows: [], truncated: false };
    },
    async diff(table, { from, to, maxRows }) {
      need(table, Math.max(from, to));
      const { columns, rows } = preview(to, Math.min(maxRows, Math.max(0, rowsAt(to) - rowsAt(from))));
      return {
        ...{ table, from, to, rowsAdded: String(rowsAt(to) - rowsAt(from)), rowsRemoved: "0" },
        ...{ filesAdded: PARTITIONS * (to - from), filesRemoved: 0, bytesAdded: "0", bytesRemoved: "0" },
        ...{ schema: [], properties: [], columns, added: rows, removed: [], truncated: false },
      };
    },
    async commit(table, version) {
      need(table, version);
      const raw = (action: object) => JSON.stringify(action);
      const file = `country=NL/part-${version}.parquet`;
      const lines = [
        {
          kind: "commitInfo",
          raw: raw({ commitInfo: { operation: entry(table, version).operation } }),
          text: "STREAMING UPDATE by the lab",
        },
        { kind: "add", raw: raw({ add: { path: file } }), text: `Adds file ${file}: <i>no markup</i>` },
      ];
      return {
        table,
        version,
        path: `_delta_log/${version}.json`,
        bytes: 512,
        lines,
        more: 0,
        offsets: offsetsOf(version),
      };
    },
    async versionAt(table, point) {
      need(table);
      const found = Array.from({ length: latest() + 1 }, (_, n) => n).filter((n) =>
        "at" in point
          ? Date.parse(timeOf(n)) <= Date.parse(point.at)
          : BigInt(offsetsOf(n)[point.partition]?.last ?? -1) >= point.offset,
      );
      const version = "at" in point ? found.at(-1) : found[0];
      if (version === undefined)
        throw new LabError("VERSION_NOT_FOUND", `no version of ${table} is that old, or holds that offset`);
      return version;
    },
    async query(request, signal) {
      queries.push(request);
      if (/^\s*selec\s/i.test(request.sql))
        throw new LabError("SQL_ERROR", 'syntax error at or near "SELEC"', { details: { position: 0 } });
      if (/forever/.test(request.sql))
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const version = request.version ?? latest();
      if (/range\((\d+)\)/.test(request.sql)) {
        const n = Number(/range\((\d+)\)/.exec(request.sql)![1]);
        const rows = Array.from({ length: n }, (_, i) => [String(i), `row ${i}`]);
        const columns = [
          { name: "range", type: "BIGINT" },
          { name: "text", type: "VARCHAR" },
        ];
        return {
          columns,
          rows,
          truncated: n >= 10_000,
          version: null,
          elapsedMs: 41,
          files: { read: 0, total: 0 },
        };
      }
      return { ...preview(version, 20), version, elapsedMs: 12.4, files: { read: 1, total: 1 } };
    },
  };

  const settled = () => String(Math.floor(rowsAt(latest()) / PARTITIONS) - 1);
  const end = (partition: number) =>
    String(Math.floor(rowsAt(latest()) / PARTITIONS) + Math.floor((waiting + partition) / PARTITIONS));
  const parts = (): Part[] => {
    const { ingester } = faults;
    const common = { startedAt: new Date(STARTED).toISOString(), alive: true };
    return [
      { ...common, name: "kafka", kind: "kafka", pid: 4100, address: "localhost:9092", state: null },
      {
        ...common,
        ...{ name: "produce-orders", kind: "produce", pid: 4200, address: null },
        state: {
          ...{ part: "produce", pid: 4200, topic: "orders", source: "orders" },
          acked: { total: String(rowsAt(latest()) + waiting), partitions: {} },
          ...{ bytes: "1048576", ratePerSecond: 500, lastError: null, done: false },
        },
      },
      {
        ...common,
        ...{ name: "ingest-1", kind: "ingest", pid: 4211, address: null, alive: ingester !== "dead" },
        state:
          ingester === "frozen" || ingester === "dead"
            ? null
            : {
                part: "ingest",
                pid: 4211,
                streams: [
                  {
                    ...{ topic: "orders", table: "orders", tableUri: "file:///lab-data/tables/orders" },
                    state: ingester,
                    reason: ingester === "paused" ? "the store does not answer, next try in 8 s" : null,
                    version: latest(),
                    buffer: { rows: waiting, bytes: waiting * 100 },
                    lastCommit: {
                      ...{
                        version: latest(),
                        at: timeOf(latest()),
                        rows: added.at(-1)!,
                        letters: 0,
                        durationMs: 84,
                      },
                    },
                    lastError: null,
                    partitions: Array.from({ length: PARTITIONS }, (_, partition) => ({
                      partition,
                      settled: settled(),
                      position: end(partition),
                      end: end(partition),
                      lag: String(Math.floor((waiting + partition) / PARTITIONS)),
                      lagSeconds: waiting > 0 ? 1.2 : 0,
                      buffered: Math.floor(waiting / PARTITIONS),
                    })),
                    ...{ ratePerSecond: 50, secondsSinceProgress: 0 },
                    totals: {
                      ...{ rows: rowsAt(latest()), letters: 4, skipped: 0 },
                      ...{ commits: latest(), conflicts: 0, rebalances: 1 },
                    },
                  },
                ],
              },
      },
    ];
  };
  const control: LabControl = {
    parts: async () => parts(),
    streams: () => [
      { topic: "my-topic", table: "my_topic", isRouted: false },
      { topic: "orders", table: "orders", isRouted: false },
    ],
    readTopic: (_topic, _reader, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    async topics() {
      if (faults.brokerGone)
        throw new LabError("BROKER_UNREACHABLE", "no broker answers at localhost:9092", {
          hint: "lab status shows what runs",
        });
      const partition = (n: number) => ({ partition: n, start: "0", end: end(n) });
      return [
        { topic: "my-topic", partitions: [{ partition: 0, start: "0", end: "4" }] },
        { topic: "orders", partitions: Array.from({ length: PARTITIONS }, (_, n) => partition(n)) },
      ];
    },
  };
  return {
    ...{ tables, control, rowsAt, latest, faults, queries },
    commit(rows) {
      commit(rows);
      waiting = Math.max(0, waiting - added.at(-1)!);
    },
    produce(records) {
      waiting += records;
    },
  };
}
