/** Names that must never change once a table holds them: txn ids, consumer groups, table names. */

import { createHash } from "node:crypto";
import { LabError } from "../core/errors.ts";

/** How the txn ids of a table name a partition: with its topic, or as kafka-delta-ingest does without. */
export type AppIdForm = "lab" | "kdi";

/** The txn id of a partition (contracts.md, "Tables"). In both forms its version is the last settled offset. */
export function appId(app: string, topic: string, partition: number, form: AppIdForm = "lab"): string {
  return form === "kdi" ? `${app}-${partition}` : `${app}/${topic}-${partition}`;
}

const WITH_TOPIC = /^[^/]+\/(.+)-\d+$/;
const WITHOUT_TOPIC = /^([^/]+)-\d+$/;
/** Ids of Spark's streams, some of which end like a partition. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The form in which a table keeps the positions of `app` in `topic`, read from the ids of its txns; on a table without any, the one
 * that was asked for. OFFSETS_FOREIGN where it was not asked for, as a form without topic may be another topic's, and where the ids name
 * another topic; OFFSETS_MISSING where others than `app` have positions in that form.
 */
export function formOf(options: {
  app: string;
  topic: string;
  asked: AppIdForm | undefined;
  txnIds: Iterable<string>;
}): AppIdForm {
  const { app, topic, asked } = options;
  const topics = new Set<string>();
  const apps = new Set<string>();
  let isOursWithTopic = false;
  for (const id of options.txnIds) {
    const named = WITH_TOPIC.exec(id)?.[1];
    const bare = UUID.test(id) ? undefined : WITHOUT_TOPIC.exec(id)?.[1];
    if (named !== undefined) topics.add(named);
    if (bare !== undefined) apps.add(bare);
    isOursWithTopic ||= named === topic && id.startsWith(`${app}/`);
  }
  if (isOursWithTopic) {
    if (asked !== "kdi") return "lab";
    throw new LabError("OFFSETS_FOREIGN", `the table keeps the positions of ${app} with their topic`, {
      hint: "leave --app-id-form out: it goes on where it is",
    });
  }
  if (asked === "kdi") {
    const other = [...topics].find((name) => name !== topic);
    if (other !== undefined) throw otherTopic(topic, `it has positions of ${other}`);
    if (apps.size > 0 && !apps.has(app)) {
      throw new LabError(
        "OFFSETS_MISSING",
        `the table has positions of ${[...apps].join(", ")} as kafka-delta-ingest writes them, and none of ${app}`,
        { hint: `give the --app (-a) that wrote them: ${[...apps].join(" or ")}` },
      );
    }
    return "kdi";
  }
  if (!apps.has(app)) return "lab";
  throw new LabError(
    "OFFSETS_FOREIGN",
    `the table has positions of ${app} as kafka-delta-ingest writes them, which do not name their topic`,
    { hint: `if they are of ${topic}, add --app-id-form kdi; else give another --app` },
  );
}

/** Rows that no position tells of: read from its start, the partition would be there twice. */
export function offsetsMissing(app: string, topic: string, partition: number): LabError {
  return new LabError(
    "OFFSETS_MISSING",
    `the table holds rows of ${topic}-${partition} but no position for app ${app}`,
    { hint: "use the --app that wrote them, or another table", details: { topic, partition } },
  );
}

/** Positions that do not name their topic hold for one topic only. */
export function otherTopic(topic: string, what: string): LabError {
  return new LabError("OFFSETS_FOREIGN", `the table is not of ${topic} alone: ${what}`, {
    hint: "leave --app-id-form kdi out and give another --app, or ingest into another table",
  });
}

/** The table property that keeps the schema of a topic's messages where a transform reads them. */
export function inputProperty(topic: string): string {
  return `lab.input.${topic}`;
}

/** Default table of a topic: each character outside `[A-Za-z0-9_]` becomes `_`. */
export function tableNameOf(topic: string): string {
  return topic.replace(/[^A-Za-z0-9_]/g, "_");
}

/** The last segment of a table's URI. */
export function tableNameOfUri(tableUri: string): string {
  return tableUri.split("/").at(-1) || tableUri;
}

/** Default consumer group: workers on one table share it, different tables never do. */
export function groupOf(app: string, tableUri: string): string {
  return `${app}.${tableNameOfUri(tableUri)}.${createHash("sha256").update(tableUri).digest("hex").slice(0, 8)}`;
}
