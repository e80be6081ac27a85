/** Which tables a topic's messages go to: those of the streams in lab.yaml, or the one named after it. */

import { isLabError } from "../core/errors.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { NamedTable } from "../query/catalog.ts";
import type { Query } from "../query/query.ts";
import type { LabYaml } from "./lab-yaml.ts";

/** Those that are there: before the first commit there is none. */
export async function tablesOfTopic(
  { catalog }: Query,
  topic: string,
  { lab }: { lab: LabYaml | null },
  signal: AbortSignal,
): Promise<NamedTable[]> {
  const streams = lab?.streams.filter((stream) => stream.topic === topic) ?? [];
  const names = streams.map((stream) => stream.table ?? tableNameOf(topic));
  const tables: NamedTable[] = [];
  for (const name of new Set(names.length > 0 ? names : [tableNameOf(topic)]))
    try {
      tables.push({ ...(await catalog.openAny(name, signal)), name });
    } catch (error) {
      if (!isLabError(error, "TABLE_NOT_FOUND")) throw error;
    }
  return tables;
}
