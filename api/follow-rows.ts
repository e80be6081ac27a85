/** New rows as a loop: one version after the other, each handed over before the next is read. */

import type { Cell } from "../query/cells.ts";
import { follow } from "../query/follow.ts";
import { toObject } from "../query/formats/json.ts";
import type { QueryContext } from "../query/run.ts";

/** What one version added; `isRewritten` where it took rows out or wrote them anew, so that what it added is not new and left out. */
export type NewRows = { version: number; rows: { [column: string]: Cell }[]; isRewritten: boolean };

/** Ends quietly when the signal aborts; leaving the loop ends the reading, too. */
export async function* followRows(
  context: QueryContext,
  sql: string,
  { after, signal }: { after: number | undefined; signal: AbortSignal },
): AsyncGenerator<NewRows> {
  const left = new AbortController();
  const either = AbortSignal.any([signal, left.signal]);
  const ready: { batch: NewRows; taken: () => void }[] = [];
  let wake = () => {};
  const hand = (batch: NewRows) =>
    new Promise<void>((taken) => {
      ready.push({ batch, taken });
      wake();
    });
  let ended: { error: unknown } | null = null;
  const running = follow(context, sql, {
    after: after === undefined ? undefined : { version: after },
    signal: either,
    onColumns: async () => {},
    async onBatch({ version, columns, chunks }) {
      const object = toObject(columns);
      const rows: NewRows["rows"] = [];
      for await (const chunk of chunks) for (const row of chunk) rows.push(object(row));
      await hand({ version, rows, isRewritten: false });
    },
    onRewrite: (version) => void hand({ version, rows: [], isRewritten: true }),
  }).then(
    () => {
      ended = { error: undefined };
      wake();
    },
    (error: unknown) => {
      ended = { error: either.aborted ? undefined : error };
      wake();
    },
  );
  try {
    for (;;) {
      const next = ready.shift();
      if (next !== undefined) {
        try {
          yield next.batch;
        } finally {
          next.taken();
        }
        continue;
      }
      const end = ended as { error: unknown } | null;
      if (end !== null) {
        if (end.error !== undefined) throw end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    left.abort(new Error("the loop was left"));
    for (const { taken } of ready) taken();
    await running;
  }
}
