/** The tables that `lab dlq` works on. */

import { isLabError } from "../core/errors.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import { type LetterTables, lettersUri, openLetterTables, stateUri } from "../letters/tables.ts";
import { withQuery } from "./ask.ts";
import type { Context } from "./command.ts";
import { tableUriOf } from "./stream-options.ts";

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
      open,
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
