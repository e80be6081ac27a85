/** Whether a store can be trusted with commits: some S3 servers let several racing writers create one object. */

import { randomUUID } from "node:crypto";
import { isLabError, LabError } from "../../core/errors.ts";
import type { Store } from "./store.ts";

/**
 * Races `writers` creations of one fresh key, `rounds` times, and removes what it wrote. Throws STORE_NOT_ATOMIC unless each time
 * exactly one wins, its bytes are what is stored, and a late creation changes nothing. Other errors are the store's own.
 */
export async function probePutIfAbsent(
  store: Store,
  signal: AbortSignal,
  options: { writers?: number; rounds?: number } = {},
): Promise<void> {
  const { writers = 20, rounds = 2 } = options;
  for (let round = 0; round < rounds; round++) {
    const path = `_lab_probe/${randomUUID()}`;
    try {
      await raceOnce(store, path, writers, signal);
    } finally {
      // The signal may be why the race ended, so it cannot bound the clean-up.
      await store.delete(path, AbortSignal.timeout(5000)).catch(() => {});
    }
  }
}

async function raceOnce(store: Store, path: string, writers: number, signal: AbortSignal): Promise<void> {
  const create = async (id: number) => {
    const result = await store.putIfAbsent(path, new TextEncoder().encode(`writer ${id}`), signal);
    return { id: `writer ${id}`, result };
  };
  const settled = await Promise.allSettled(Array.from({ length: writers }, (_, id) => create(id)));
  const failure = settled.find((one) => one.status === "rejected");
  if (failure) throw failure.reason;
  const racers = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  racers.push(await create(writers));

  const created = racers.filter(({ result }) => result === "created");
  const unclear = racers.filter(({ result }) => result === "unclear");
  if (created.length > 1)
    throw notAtomic(store, `${created.length} of ${writers} racing writers created one object`);

  const stored = await read(store, path, signal);
  if (stored === undefined && created.length === 0 && unclear.length > 0) {
    throw new LabError("STORE_UNREACHABLE", `${store.root} answered none of ${writers} racing creations`, {
      hint: "try again; check that the server is well",
    });
  }
  const winner = created[0] ?? unclear.find(({ id }) => id === stored);
  if (stored === undefined || winner?.id !== stored) {
    throw notAtomic(
      store,
      `the winner of a race wrote ${winner?.id ?? "nothing"}, and ${stored ?? "nothing"} is stored`,
    );
  }
}

async function read(store: Store, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await store.get(path, signal));
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING")) return undefined;
    throw error;
  }
}

function notAtomic(store: Store, why: string): LabError {
  return new LabError("STORE_NOT_ATOMIC", `${store.root}: ${why}`, {
    hint: "use a store that keeps put-if-absent: a local folder, MinIO or Amazon S3",
  });
}
