/** The dead letters of a commit: files from memory, and a commit to their own table. */

import type { Add } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { statsJson } from "../delta/stats.ts";
import type { CommitResult, Snapshot } from "../delta/table.ts";
import { type Letter, letterBytes } from "./chunk.ts";
import type { Opened } from "./destination.ts";
import {
  movedElsewhere,
  outlast,
  overtakenSince,
  type PublishInput,
  type Rejected,
  readTxns,
  txnsOf,
} from "./publish-input.ts";

/** Raw bytes of the letters in one file, about. */
const LETTER_FILE_BYTES = 16 << 20;

/**
 * Commits the letters, if there are any, to their table, which is made where there is none. REJECTED where another worker has judged what is judged
 * here: letters come before rows and are final.
 */
export async function settleLetters(
  input: PublishInput,
  rows: Opened | null,
  bad: readonly Letter[],
): Promise<{ kind: "settled"; letters: Opened | null } | Rejected> {
  if (bad.length === 0) return { kind: "settled", letters: input.letters };
  // An overtaken worker would judge records that are rows by now.
  const late = rows && (await overtakenSince(input, rows));
  if (late) return late;
  let { letters } = input;
  if (!letters) {
    letters = await outlast(input, () => input.destination.createLetters(input.signal));
    // There was no such table when the positions were read: what it holds of ours may be verdicts on what we hold.
    const judged = movedElsewhere(input, letters, "lab", (_partition, stored) => stored === undefined);
    if (judged) return judged;
  }
  const result = await commitLetters(input, letters, bad);
  if (result.kind === "conflict") return { kind: "rejected", reason: result.reason, message: result.message };
  return { kind: "settled", letters: { table: letters.table, snapshot: result.snapshot } };
}

/** Writes the letters, with their own positions, which never fall: they may be ahead of the rows after a crash. */
async function commitLetters(
  input: PublishInput,
  letters: Opened,
  bad: readonly Letter[],
): Promise<CommitResult> {
  const { table, snapshot } = letters;
  const adds: Add[] = [];
  for (const some of inFiles(bad)) {
    // Loaded here because what writes them takes a while to load, and most runs see no letter.
    const { lettersFile } = await import("./letters-file.ts");
    const bytes = lettersFile(some, input.now());
    const path = dataFilePath([], {});
    await outlast(input, () => table.store.put(path, bytes, input.signal));
    adds.push({
      path,
      partitionValues: {},
      size: bytes.byteLength,
      modificationTime: input.now(),
      dataChange: true,
      stats: letterStats(some, snapshot),
    });
  }
  return table.commit(
    {
      readSnapshot: snapshot,
      operation: "STREAMING UPDATE",
      adds,
      txns: txnsOf(input, snapshot, { form: "lab", isKept: () => true }),
      readTxns: readTxns(input, "lab"),
    },
    input.signal,
  );
}

/** Letters are written from memory, several times their size of it: where all of a topic is bad, not all at once. */
function* inFiles(bad: readonly Letter[]): Generator<Letter[]> {
  let some: Letter[] = [];
  let bytes = 0;
  for (const letter of bad) {
    some.push(letter);
    bytes += letterBytes(letter);
    if (bytes < LETTER_FILE_BYTES) continue;
    yield some;
    some = [];
    bytes = 0;
  }
  if (some.length > 0) yield some;
}

/** Bounds that let a resume find the letters of an offset range without reading every file. */
function letterStats(bad: readonly Letter[], { schema, partitionColumns, metadata }: Snapshot): string {
  const columns = (["partition", "offset"] as const).map((name) => {
    const values = bad.map((letter) => letter[name]);
    return {
      path: [name],
      min: values.reduce((a, b) => (b < a ? b : a)),
      max: values.reduce((a, b) => (b > a ? b : a)),
      nullCount: 0,
    };
  });
  const { configuration } = metadata;
  return statsJson({ numRecords: bad.length, columns }, { schema, partitionColumns, configuration });
}
