/** The dashboard as `lab dashboard` builds it, in this process, over a real broker and real tables: for tests of the page. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createLabControl } from "../../cli/lab-control.ts";
import { createLabWork } from "../../cli/lab-work.ts";
import { openTableMarks } from "../../cli/table-marks.ts";
import { silentLog } from "../../core/log.ts";
import { watchLedger } from "../../dashboard/ledger-watch.ts";
import { createDashboard } from "../../dashboard/server.ts";
import { connectKafka } from "../../kafka/client.ts";
import { openTableReader } from "../../query/reader.ts";
import { sharedBroker } from "./kafka.ts";
import { lab } from "./lab.ts";
import { until } from "./until.ts";

export type ServedLab = {
  topic: string;
  /** Folder of the tables; the table is `orders` in it. */
  store: string;
  tableUri: string;
  origin: string;
  /** Sends these values, one record each, round the partitions. */
  produce(values: readonly (string | Buffer)[]): Promise<void>;
  /** Deletes topic and table, and makes the topic again: the same offsets are of other records then. */
  makeAnew(): Promise<void>;
  /** Runs `lab ARGS` with the broker's address and the store; throws where it fails. */
  lab(...args: string[]): Promise<string>;
  /** `lab ingest` until it has caught up. */
  ingest(...args: string[]): Promise<void>;
  /** `lab merge` likewise. */
  merge(...args: string[]): Promise<void>;
};

/** A topic of three partitions that fills table `orders`, and a page on it. Everything ends with the test. */
export async function serveLab(t: TestContext): Promise<ServedLab> {
  const folder = await mkdtemp(join(tmpdir(), "lab-page-"));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  const store = join(folder, "tables");
  const topic = `page-${randomUUID()}`;
  const brokers = await sharedBroker();
  const kafka = connectKafka({ brokers, clientId: "page", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  await admin.createTopic(topic, { partitions: 3 });
  await admin.close();
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());

  const streams = [{ topic, table: "orders", isRouted: false }];
  const watching = new AbortController();
  const work = createLabWork({ common: ["--store", store], env: process.env, signal: watching.signal });
  const control = createLabControl({ data: folder, kafka, streams, work });
  const tables = openTableReader({ store });
  const marks = openTableMarks(store);
  const watch = { control, log: silentLog, now: Date.now, signal: watching.signal };
  const ledger = watchLedger({ ...watch, positions: tables.positions });
  const app = createDashboard({
    ...{ tables, control, ledger, positions: tables.positions, token: "secret", log: silentLog },
    marks: marks.read,
    allowedHosts: ["127.0.0.1"],
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(async () => {
    server.close();
    server.closeAllConnections();
    watching.abort();
    await ledger.ended;
    await tables.close();
    await marks.close();
    await control.close();
  });
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await lab(args, { cwd: folder });
    if (status !== 0) throw new Error(`lab ${args.join(" ")} ended with ${status}: ${stderr.slice(-3000)}`);
    return stdout;
  };
  const tableUri = join(store, "orders");
  const once = async (command: string, args: readonly string[]) => {
    const where = ["--topic", topic, "--table", tableUri, "--kafka", brokers.join(",")];
    await run(command, ...where, "--once", ...args);
  };
  return {
    ...{ topic, store, tableUri },
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async produce(values) {
      const records = values.map((value, n) => ({ key: null, value, partition: n % 3 }));
      await sink.send(topic, records);
    },
    async makeAnew() {
      const admin = await kafka.admin();
      try {
        await admin.deleteTopic(topic);
        await until("the topic made anew", () =>
          admin.createTopic(topic, { partitions: 3 }).catch(() => false),
        );
      } finally {
        await admin.close();
      }
      for (const name of ["orders", "orders__dead_letters"])
        await rm(join(store, name), { recursive: true, force: true });
    },
    lab: (...args) => run(...args),
    ingest: (...args) => once("ingest", args),
    merge: (...args) => once("merge", args),
  };
}
