/** Where changes are merged, no row is of one message: the ledger goes by what commits tell, and says where they tell too little. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { toJson } from "../core/ops.ts";
import { openProducedBook } from "./produced.ts";
import { openStreamLedger } from "./stream-ledger.ts";
import type { TablePositions } from "./tables.ts";

// The page's modules are plain JavaScript.
const words = await import(new URL("./page/ledger-words.js", import.meta.url).href);
const { signal } = new AbortController();
const stream = { topic: "people", table: "people", isRouted: false };

type Commit = { first: bigint; last: bigint; merged: bigint };

/** Ten messages were produced; commits settled some, up to `settled`, and those at `letters` are letters. */
function count(commits: readonly Commit[], settled: bigint, letters: readonly bigint[] = []) {
  const book = openProducedBook();
  book.begins(0, 0n);
  const records = Array.from({ length: 10 }, (_, n) => ({ offset: BigInt(n), timestampMs: 0 }));
  book.took({ partition: 0, nextOffset: 10n, records });
  const base = { version: 7, nameless: 0n, txns: new Map<string, bigint>(), commits: [], isMerged: false };
  const main: TablePositions = {
    ...{ ...base, id: "one", ranges: [], isMerged: true, txns: new Map([["lab/people-0", settled]]) },
    commits: commits.map(({ first, last, merged }, n) => ({
      ...{ version: n + 1, timestamp: "2026-11-29T20:00:00.000000Z", operation: "MERGE", engine: null },
      ...{
        generation: 0,
        settled: [{ topic: "people", partition: 0, first, last, skipped: merged }],
        change: null,
      },
    })),
  };
  const alike = { topic: "people", partition: 0, generation: 0, mark: "" };
  const lettered = { ...base, id: "two", ranges: letters.map((at) => ({ ...alike, first: at, last: at })) };
  const read = async (name: string) =>
    name === "people" ? main : name === "people__dead_letters" ? lettered : null;
  return openStreamLedger(stream, { read, routed: async () => [] }).count(book, signal);
}

const terms = ({ lines: [line] }: Awaited<ReturnType<typeof count>>) => {
  const { produced, skipped, letters, waiting, lost, doubled } = line!;
  return { produced, merged: skipped, letters, waiting, lost, doubled };
};

test("merged, a letter or waiting: the messages of changes add up", async () => {
  const found = await count(
    [
      { first: 0n, last: 3n, merged: 4n },
      { first: 4n, last: 6n, merged: 2n },
    ],
    6n,
    [5n],
  );
  assert.deepEqual([found.verdict, found.isMerged], ["whole", true]);
  assert.deepEqual(terms(found), {
    ...{ produced: 10n, merged: 6n, letters: 1n, waiting: 3n, lost: 0n, doubled: 0n },
  });
});

test("settled messages that no commit tells of are lost", async () => {
  const found = await count([{ first: 0n, last: 3n, merged: 4n }], 6n);
  assert.equal(found.verdict, "broken");
  assert.equal(terms(found).lost, 3n);
});

test("what versions settled that the log has lost is in no term", async () => {
  const found = await count([{ first: 4n, last: 6n, merged: 3n }], 6n);
  assert.equal(found.verdict, "whole");
  assert.deepEqual(terms(found), {
    ...{ produced: 6n, merged: 3n, letters: 0n, waiting: 3n, lost: 0n, doubled: 0n },
  });
  const none = await count([], 9n);
  assert.deepEqual([none.verdict, terms(none).produced], ["whole", 0n]);
});

test("the page says merged where rows would stand, and by whose word nothing is lost", async () => {
  const found = JSON.parse(toJson(await count([{ first: 0n, last: 9n, merged: 10n }], 9n)));
  assert.equal(words.verdictOf(found).text, "Nothing lost, as the commits tell");
  const shown = (isMerged: boolean) =>
    words
      .termsFor(found.lines, isMerged)
      .map(({ sign, name }: { sign: string; name: string }) => sign + name);
  assert.deepEqual(shown(true), ["produced", "=merged", "+letters", "+waiting", "+lost", "doubled"]);
  assert.deepEqual(shown(false), [
    "produced",
    "=rows",
    "+letters",
    "+skipped",
    "+waiting",
    "+lost",
    "doubled",
  ]);
  const [merged] = words.termsFor(found.lines, true).slice(1);
  assert.equal(String(merged.of(found.lines[0])), "10");
});
