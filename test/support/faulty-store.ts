/** A store around another that writes down every call and fails where a test says so. */

import { LabError } from "../../core/errors.ts";
import type { Store } from "../../delta/store/store.ts";

export type StoreOp = "get" | "getRange" | "list" | "put" | "putIfAbsent" | "delete";

export type StoreCall = {
  op: StoreOp;
  path: string;
  /** What came of it: `ok`, what putIfAbsent said, or the code of the error; undefined while it runs. */
  result: string | undefined;
};

/**
 * What happens to a call:
 * - `lose-request`: nothing is done, the answer is lost (putIfAbsent: `unclear`; the others: STORE_UNREACHABLE)
 * - `lose-reply`: it is done, the answer is lost
 * - `hang`: it waits until its signal aborts
 * - a promise: it is done once the promise resolves
 * - an Error: nothing is done, the error is thrown
 */
export type Fault = "lose-request" | "lose-reply" | "hang" | Promise<unknown> | Error;

/** Asked before each call; `nth` counts the calls of this op so far, from 1. The first rule that names a fault decides. */
export type Rule = (call: { op: StoreOp; path: string; nth: number }) => Fault | undefined;

export type FaultyStore = Store & {
  /** All calls in the order in which they began. */
  readonly calls: StoreCall[];
  /** May be changed at any time. */
  readonly rules: Rule[];
};

/** Closing it closes `inner`. */
export function faultyStore(inner: Store, ...rules: Rule[]): FaultyStore {
  const calls: StoreCall[] = [];

  async function pass<T>(op: StoreOp, path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const call: StoreCall = { op, path, result: undefined };
    calls.push(call);
    const nth = calls.filter((other) => other.op === op).length;
    try {
      const value = await meet(firstFault(rules, { op, path, nth }), signal, work);
      call.result = typeof value === "string" ? value : "ok";
      return value;
    } catch (error) {
      call.result = error instanceof LabError ? error.code : String(error);
      throw error;
    }
  }

  return {
    root: inner.root,
    calls,
    rules,
    get: (path, signal) => pass("get", path, signal, () => inner.get(path, signal)),
    getRange: (path, start, length, signal) =>
      pass("getRange", path, signal, () => inner.getRange(path, start, length, signal)),
    async *list(prefix, options) {
      await pass("list", prefix, options.signal, async () => {});
      yield* inner.list(prefix, options);
    },
    async *folders(signal) {
      await pass("list", "", signal, async () => {});
      yield* inner.folders(signal);
    },
    put: (path, body, signal) => pass("put", path, signal, () => inner.put(path, body, signal)),
    putIfAbsent: (path, body, signal) =>
      pass("putIfAbsent", path, signal, () => inner.putIfAbsent(path, body, signal)).catch((error) => {
        if (error === LOST) return "unclear";
        throw error;
      }),
    delete: (path, signal) => pass("delete", path, signal, () => inner.delete(path, signal)),
    ...(inner.localPath ? { localPath: (path: string) => inner.localPath!(path) } : {}),
    close: () => inner.close(),
  };
}

/** A rule for calls of one op whose path matches: the fault for the `first` so many of them, then none. */
export function failing(op: StoreOp, path: RegExp, fault: Fault, first = 1): Rule {
  let left = first;
  return (call) => (call.op === op && path.test(call.path) && left-- > 0 ? fault : undefined);
}

const LOST = new LabError("STORE_UNREACHABLE", "the answer was lost, as the test asked");

function firstFault(rules: Rule[], call: Parameters<Rule>[0]): Fault | undefined {
  for (const rule of rules) {
    const fault = rule(call);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

async function meet<T>(fault: Fault | undefined, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (fault === undefined) return work();
  if (fault instanceof Error) throw fault;
  if (fault === "lose-request") throw LOST;
  if (fault === "lose-reply") {
    await work();
    throw LOST;
  }
  if (fault === "hang")
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  await fault;
  return work();
}
