import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { Store } from "../delta/store/store.ts";
import type { StructType } from "../delta/types.ts";
import { routedUri } from "../ingest/route-name.ts";
import { type DlqFixture, dlqFixture } from "../test/support/dlq-fixture.ts";
import { faultyStore } from "../test/support/faulty-store.ts";

const nullable = (name: string, type: "long" | "double") => ({ name, type, nullable: true, metadata: {} });
const schema: StructType = { type: "struct", fields: [nullable("id", "long"), nullable("amount", "double")] };
const FIXED =
  "SELECT * REPLACE (CAST(replace(CAST(amount AS VARCHAR), ' EUR', '') AS DOUBLE) AS amount) FROM messages";

/** A good record, one that only the fixed transform can read, one that nothing can. */
type Kind = "good" | "fixable" | "broken";
const VALUES: Record<Kind, (id: number) => string> = {
  good: (id) => `{"id":${id},"amount":${id}}`,
  fixable: (id) => `{"id":${id},"amount":"${id} EUR"}`,
  broken: (id) => `{"id":${id}`,
};

type Step =
  | { do: "ingest"; diesAt: "after-upload" | "after-letters" | "after-commit" | null }
  /** `writes`: so many things are stored before the process is gone; null: it lives. */
  | { do: "replay"; isFixed: boolean; at: number; writes: number | null }
  | { do: "drop"; at: number; writes: number | null }
  | { do: "two replays" };

const writes = fc.option(fc.nat(7), { freq: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("ingest" as const),
    diesAt: fc.constantFrom("after-upload" as const, "after-letters" as const, "after-commit" as const, null),
  }),
  fc.record({ do: fc.constant("replay" as const), isFixed: fc.boolean(), at: fc.nat(1), writes }),
  fc.record({ do: fc.constant("drop" as const), at: fc.nat(1), writes }),
  fc.constant({ do: "two replays" as const }),
);
const turn = fc.record({
  records: fc.array(fc.constantFrom<Kind>("good", "fixable", "broken"), { maxLength: 3 }),
  step,
  /** Of the stream at that time. */
  isRouted: fc.boolean(),
});
const ROUTED = { route: "CAST(id % 2 AS VARCHAR)" };

class Killed extends Error {}

/** Puts into stores of one process the moment of its end. */
function dyingAfter(writes: number | null): (store: Store) => Store {
  let left = writes ?? Number.POSITIVE_INFINITY;
  return (store) =>
    faultyStore(store, ({ op }) => {
      const isWrite = op === "put" || op === "putIfAbsent" || op === "delete";
      if (left <= 0) return new Killed("killed");
      if (isWrite) left--;
      return undefined;
    });
}

async function perform(
  fixture: DlqFixture,
  { step, isRouted }: { step: Step; isRouted: boolean },
): Promise<void> {
  const route = isRouted ? ROUTED : {};
  const transform = { transform: FIXED, stream: route };
  const dies = (error: unknown) => {
    if (!(error instanceof Killed) && !/killed/.test(String(error))) throw error;
  };
  switch (step.do) {
    case "ingest": {
      const onStep = (name: string) => {
        if (name === step.diesAt) throw new Killed("killed");
      };
      return fixture.start({ schema, once: true, ...route }, { onStep }).ended.catch(dies);
    }
    case "replay": {
      const filter = { offsets: [{ partition: null, first: BigInt(step.at), last: 99n }] };
      const more = step.isFixed ? transform : { stream: route };
      await fixture.replay({ filter, ...more, wrapStore: dyingAfter(step.writes) }).catch(dies);
      return;
    }
    case "drop": {
      const filter = { limit: step.at + 1 };
      await fixture.drop({ filter, wrapStore: dyingAfter(step.writes) }).catch(dies);
      return;
    }
    case "two replays":
      await Promise.all([fixture.replay(transform), fixture.replay(transform)]);
  }
}

test("whatever is ingested, replayed and dropped in whatever order, with or without a route, killed wherever: each record is a row once, or a letter", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 6 }), async (turns) => {
      const fixture = await dlqFixture(t);
      fixture.kafka.createTopic("t", 1);
      // The table is there from the first record on.
      const kinds: Kind[] = ["good"];
      fixture.kafka.append("t", 0, [{ key: null, value: VALUES.good(0) }]);
      await fixture.start({ schema, once: true }).ended;
      for (const one of turns) {
        for (const kind of one.records) {
          fixture.kafka.append("t", 0, [{ key: null, value: VALUES[kind](kinds.length) }]);
          kinds.push(kind);
        }
        await perform(fixture, one);
      }
      await fixture.start({ schema, once: true }).ended;
      await fixture.replay({ transform: FIXED });

      const rows = (await fixture.rows("SELECT id FROM t")).map(({ id }) => Number(id));
      for (const value of ["0", "1"]) {
        const uri = routedUri(fixture.tableUri, value);
        const routed = await fixture.rowsOf(uri, "SELECT id FROM t").catch((error: unknown) => {
          if (isLabError(error, "NOT_A_TABLE")) return [];
          throw error;
        });
        rows.push(...routed.map(({ id }) => Number(id)));
      }
      const letters = await fixture.list();
      const closed = letters.filter(({ state }) => state === "replayed").map(({ offset }) => Number(offset));
      const left = letters.filter(({ state }) => state !== "replayed").map(({ offset }) => Number(offset));
      const all = kinds.map((_, id) => id);
      assert.deepEqual(
        [...rows, ...left].sort((a, b) => a - b),
        all,
        "each record once",
      );
      assert.deepEqual(
        closed,
        all.filter((id) => kinds[id] === "fixable" && rows.includes(id)),
        "replayed",
      );
      for (const { offset, state } of letters)
        if (kinds[Number(offset)] === "fixable") assert.notEqual(state, "open", `offset ${offset}`);
      await rm(fixture.folder, { recursive: true, force: true });
    }),
    { numRuns: Number(process.env.LAB_RUNS ?? 5) },
  );
});
