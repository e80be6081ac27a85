/** Whether anybody ingests into a table: asked of the lab on this machine, and of the broker. */

import { asLabError, isLabError, LabError } from "../core/errors.ts";
import { groupOf } from "../ingest/identity.ts";
import type { Kafka } from "../kafka/ports.ts";
import { readParts } from "./lab-state.ts";

export type IngesterCheck = {
  /** The table's root, as its store gives it. */
  tableUri: string;
  /** Ids of the transactions that hold positions: `<app>/<topic>-<partition>`. */
  appIds: Iterable<string>;
  /** The lab's data folder. */
  data: string;
  kafka: Kafka;
  /** A line for people: whom nobody could ask. */
  note: (line: string) => void;
  signal: AbortSignal;
};

/** COMMIT_CONFLICT where an ingester of this machine, or a member of the table's consumer group, runs. A broker that does not answer is only noted. */
export async function requireNoIngester(check: IngesterCheck): Promise<void> {
  const { tableUri, data, kafka, note, signal } = check;
  for (const part of await readParts(data, { signal })) {
    if (part.kind !== "ingest" || !part.alive) continue;
    const state = part.state?.part === "ingest" ? part.state : null;
    // One that does not say what it does may do just that.
    if (state === null || state.streams.some((stream) => stream.tableUri === tableUri))
      throw running(`${part.name} (pid ${part.pid}) on this machine`);
  }
  const groups = new Set([...check.appIds].flatMap((appId) => groupsOf(appId, tableUri)));
  if (groups.size === 0) return;
  try {
    const admin = await kafka.admin();
    try {
      for (const group of groups)
        if ((await admin.groupMembers(group)) > 0) throw running(`a member of consumer group ${group}`);
    } finally {
      await admin.close();
    }
  } catch (error) {
    if (isLabError(error, "COMMIT_CONFLICT")) throw error;
    note(
      `whether an ingester runs elsewhere could not be asked: ${asLabError(error).message}; one that does run loses its next commit, and goes on from the positions of then`,
    );
  }
}

/** The default group of the app that wrote a transaction; none for ids that are not ours. */
function groupsOf(appId: string, tableUri: string): string[] {
  const app = /^(.+)\/[^/]+-\d+$/.exec(appId)?.[1] ?? /^(.+)-\d+$/.exec(appId)?.[1];
  return app === undefined ? [] : [groupOf(app, tableUri)];
}

function running(who: string): LabError {
  return new LabError("COMMIT_CONFLICT", `offsets cannot be taken back while an ingester runs: ${who}`, {
    hint: "stop it first (lab down, or end that process), then restore, then start it again",
  });
}
