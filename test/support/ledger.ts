/**
 * The ledger of design section 4, counted by nobody of ours: the topic by Apache Kafka's Java consumer, the tables by Python
 * deltalake. Messages are `{"id":n,"text":"..."}`; anything else is expected to be a dead letter.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type ReadRecord, readTopic } from "./independent-reader.ts";
import { referee } from "./python.ts";

export type Counted = {
  version: number;
  rows: number;
  distinct: number;
  letters: number;
  distinctLetters: number;
  both: number;
  rowsHash: string;
  lettersHash: string;
};

/** Throws unless every record of the topic is exactly once in the rows or in the letters, with its content. */
export async function assertLedger(input: {
  brokers: readonly string[];
  topic: string;
  tableUri: string;
  storageOptions?: Record<string, string>;
}): Promise<Counted> {
  const [records, counted] = await Promise.all([readTopic(input.brokers, input.topic), countTables(input)]);
  const good: string[] = [];
  const bad: string[] = [];
  for (const record of records) {
    const line = rowLine(record);
    if (line === null)
      bad.push(`${record.partition}\t${record.offset}\t${record.value?.toString("hex") ?? "-"}`);
    else good.push(line);
  }
  const expected: Omit<Counted, "version"> = {
    rows: good.length,
    distinct: good.length,
    letters: bad.length,
    distinctLetters: bad.length,
    both: 0,
    rowsHash: digest(good),
    lettersHash: digest(bad),
  };
  const { version, ...found } = counted;
  assert.deepEqual(found, expected);
  return { version, ...found };
}

async function countTables(input: {
  tableUri: string;
  storageOptions?: Record<string, string>;
}): Promise<Counted> {
  const options = JSON.stringify(input.storageOptions ?? {});
  return JSON.parse(await referee("ledger.py", [input.tableUri, options, "id", "text"])) as Counted;
}

function rowLine({ partition, offset, value }: ReadRecord): string | null {
  try {
    const { id, text } = JSON.parse(value?.toString("utf8") ?? "") as { id: number; text: string };
    return `${partition}\t${offset}\t${id}\t${text}`;
  } catch {
    return null;
  }
}

const digest = (lines: string[]) =>
  createHash("sha256")
    .update(
      lines
        .map((line) => Buffer.from(line))
        .sort(Buffer.compare)
        .map(String)
        .join("\n"),
    )
    .digest("hex");
