/** A stream over the Kafka in memory (`streamFixture`), and its dead letters to list, replay and drop. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openEncoder } from "../../columnar/open-encoder.ts";
import { openStore } from "../../delta/store/open.ts";
import type { Store } from "../../delta/store/store.ts";
import { openDesk } from "../../letters/desk.ts";
import { type DropOptions, type DropResult, dropLetters } from "../../letters/drop.ts";
import type { LetterFilter } from "../../letters/filter.ts";
import { type LetterLine, listLetters } from "../../letters/list.ts";
import { type ReplayOptions, type ReplayResult, replayLetters } from "../../letters/replay.ts";
import { encodeAsStream, type LetterStream } from "../../letters/stream-encode.ts";
import { type LetterTables, lettersUri, openLetterTables, stateUri } from "../../letters/tables.ts";
import { type Fixture, streamFixture } from "./stream-fixture.ts";

const { signal } = new AbortController();

export type DlqFixture = Fixture & {
  /** A process of its own: stores and encoder are opened anew. `wrapStore` puts faults into its stores. */
  replay(
    options?: Partial<Omit<ReplayOptions, "encode">> & {
      stream?: Partial<LetterStream>;
      /** Another one than the stream's. */
      transform?: string;
      wrapStore?: (store: Store) => Store;
      signal?: AbortSignal;
    },
  ): Promise<ReplayResult>;
  drop(options?: Partial<DropOptions> & { wrapStore?: (store: Store) => Store }): Promise<DropResult>;
  list(filter?: LetterFilter): Promise<LetterLine[]>;
};

export async function dlqFixture(t: TestContext): Promise<DlqFixture> {
  const fixture = await streamFixture(t);
  const scratchDir = join(fixture.folder, "scratch");
  let stagings = 0;

  async function withTables<T>(
    work: (tables: LetterTables) => Promise<T>,
    wrapStore: (store: Store) => Store = (store) => store,
  ): Promise<T> {
    const opened: Store[] = [];
    const open = async (uri: string) => {
      const store = wrapStore(await openStore(uri, { signal }));
      opened.push(store);
      return store;
    };
    const stores = {
      rows: await open(fixture.tableUri),
      letters: await open(lettersUri(fixture.tableUri)),
      state: await open(stateUri(fixture.tableUri)),
      open,
    };
    try {
      return await work(openLetterTables(stores, { outages: { isRetryable: () => false } }));
    } finally {
      for (const store of opened) await store.close();
    }
  }

  return {
    ...fixture,
    async replay({ stream, transform, wrapStore, signal: stop = signal, ...options } = {}) {
      const stagingDir = join(fixture.folder, `dlq-${stagings++}`);
      await mkdir(stagingDir, { recursive: true });
      const encoder = await openEncoder({ stagingDir, memoryLimitBytes: 256 << 20, threads: 1 });
      const encode = encodeAsStream({
        encoder,
        decoder: null,
        stream: {
          topic: "t",
          tableUri: fixture.tableUri,
          maxTables: 100,
          format: "json",
          metadata: true,
          keepRaw: false,
          partitionBy: [],
          onUnknownField: "add",
          ...stream,
          ...(transform === undefined ? {} : { transform }),
        },
        isOtherTransform: transform !== undefined,
      });
      const given = { app: "lab", filter: {}, encode, scratchDir, threads: 1, ...options };
      try {
        return await withTables((tables) => replayLetters(tables, given, stop), wrapStore);
      } finally {
        await encoder.close();
      }
    },
    drop: ({ wrapStore, ...options } = {}) =>
      withTables(
        (tables) =>
          dropLetters(tables, { app: "lab", filter: {}, scratchDir, threads: 1, ...options }, signal),
        wrapStore,
      ),
    list: (filter = { states: ["open", "replayed", "dropped"] }) =>
      withTables(async (tables) => {
        const desk = await openDesk(tables, { scratchDir, threads: 1 });
        try {
          return (await listLetters(desk, filter, signal)).letters;
        } finally {
          await desk.close();
        }
      }),
  };
}
