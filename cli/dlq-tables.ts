/** The tables that `lab dlq` works on, and how letters of a topic become rows of them. */

import { existsSync, readFileSync } from "node:fs";
import { isLabError } from "../core/errors.ts";
import { SETTINGS, type Values } from "../core/settings.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import { tableNameOf } from "../ingest/identity.ts";
import { type LetterTables, lettersUri, openLetterTables, stateUri } from "../letters/tables.ts";
import { withQuery } from "./ask.ts";
import type { Context } from "./command.ts";
import { FORMAT_SETTINGS } from "./format-options.ts";
import { type ConfiguredStream, STREAM_SETTINGS, streamOptions, tableUriOf } from "./stream-options.ts";

/** Settings of the stream that matter to its letters; those of lab.yaml are laid under them. */
export const ENCODING = {
  transform: {
    ...STREAM_SETTINGS.transform,
    defaultText: "the stream's",
    description: "replay: SQL over the messages, or a file with it, instead of the stream's",
  },
  ...FORMAT_SETTINGS,
  onUnknownField: STREAM_SETTINGS.onUnknownField,
  app: SETTINGS.app,
} as const;

/** A table by name, path or URI; that of its letters serves as well. */
export async function withLetterTables<T>(
  { signal, env }: Pick<Context, "signal" | "env">,
  values: { store: string },
  asked: string,
  work: (tables: LetterTables, place: { name: string; uri: string }) => Promise<T>,
): Promise<T> {
  const name = asked.replace(/__dead_letters(_state)?$/, "");
  const found = await withQuery(values, ({ catalog }) =>
    catalog.openAny(name, signal).then(
      ({ name, table }) => ({ name, uri: table.store.root, missing: undefined }),
      (missing: unknown) => {
        if (!isLabError(missing, "TABLE_NOT_FOUND", "NOT_A_TABLE")) throw missing;
        return { name, uri: tableUriOf(name, values.store), missing };
      },
    ),
  );
  const stores: Store[] = [];
  const open = async (uri: string) => {
    const store = await openStore(uri, { signal, env });
    stores.push(store);
    return store;
  };
  try {
    const { uri } = found;
    const tables = openLetterTables({
      rows: await open(uri),
      letters: await open(lettersUri(uri)),
      state: await open(stateUri(uri)),
    });
    // Letters may be there before the table is.
    if (found.missing && (await tables.look(signal)).letters === null) throw found.missing;
    const result = await work(tables, found);
    await tables.maintain(signal);
    return result;
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

/** The stream that brings a topic to this table: that of lab.yaml if there is one, and the flags over it. */
export function streamOf(
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
