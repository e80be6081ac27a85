/** Whether two accounts of one version say the same: the state replayed from commits, and what sums it up. */

import { isDeepStrictEqual } from "node:util";
import type { Metadata, Protocol } from "../delta/actions.ts";
import { toAction } from "../delta/commit-file.ts";
import { fileKey } from "../delta/file-key.ts";
import { parseJson } from "../delta/json.ts";
import { hashText } from "../delta/key-index.ts";
import type { LogState } from "../delta/log-state.ts";
import type { Findings } from "./findings.ts";

/** `root` of the table: absolute paths in the log are compared with it. */
type Where = { root: string; file: string; damage: Findings };

/** A checkpoint's state against the replayed one. Tombstones and transactions may have expired in it. */
export function compareStates(replayed: LogState, held: LogState, { root, file, damage }: Where): void {
  const differing = (what: string) =>
    damage.add({
      file,
      problem: "checkpoint",
      message: `it does not hold the state of version ${replayed.version}: ${what}`,
      hint: "delete it where the commits before it are there, then lab checkpoint writes a new one",
    });
  if (!isDeepStrictEqual(plain(held.protocol), plain(replayed.protocol))) differing("another protocol");
  if (!isDeepStrictEqual(parsed(held.metadata), parsed(replayed.metadata)))
    differing("another schema or other properties");
  const txn = differingTxn(replayed, held);
  if (txn !== undefined) differing(`another version of transaction ${txn}`);
  for (const domain of new Set([...replayed.domains.keys(), ...held.domains.keys()]))
    if (replayed.domains.get(domain)?.configuration !== held.domains.get(domain)?.configuration)
      differing(`another value of domain ${domain}`);
  if (held.numFiles !== replayed.numFiles)
    differing(`${held.numFiles} files instead of ${replayed.numFiles}`);
  if (held.sizeBytes !== replayed.sizeBytes)
    differing(`${held.sizeBytes} bytes instead of ${replayed.sizeBytes}`);
  if (digest(held, root) !== digest(replayed, root))
    differing(`other files: ${someDifference(replayed, held, root)}`);
}

/** The checksum file of a version (PROTOCOL.md, "Version Checksum File"). SyntaxError, TypeError where it is none. */
export function compareChecksum(replayed: LogState, bytes: Uint8Array, { file, damage }: Where): void {
  const checksum = parseJson(Buffer.from(bytes).toString("utf8")) as Record<string, unknown>;
  const differing = (what: string) =>
    damage.add({
      file,
      problem: "checksum",
      message: `it does not agree with version ${replayed.version}: ${what}`,
      hint: "delete the file: readers do without it",
    });
  const { numFiles, tableSizeBytes, protocol, metadata } = checksum;
  if (numFiles !== undefined && Number(numFiles) !== replayed.numFiles)
    differing(`${numFiles} files instead of ${replayed.numFiles}`);
  if (tableSizeBytes !== undefined && Number(tableSizeBytes) !== replayed.sizeBytes)
    differing(`${tableSizeBytes} bytes instead of ${replayed.sizeBytes}`);
  const asAction = toAction({ protocol }) as { protocol: Protocol } | undefined;
  if (asAction && !isDeepStrictEqual(plain(asAction.protocol), plain(replayed.protocol)))
    differing("another protocol");
  const asMetadata = toAction({ metaData: metadata }) as { metaData: Metadata } | undefined;
  if (asMetadata && !isDeepStrictEqual(parsed(asMetadata.metaData), parsed(replayed.metadata)))
    differing("another schema or other properties");
}

/** The finding for a checksum file that is none. */
export function damagedChecksum(why: string, { file, damage }: Where): void {
  damage.add({
    file,
    problem: "checksum",
    message: `it cannot be read: ${why}`,
    hint: "delete the file: readers do without it",
  });
}

/** Features are sets: their order says nothing. */
function plain(protocol: Protocol | undefined): unknown {
  return (
    protocol && {
      ...protocol,
      readerFeatures: [...(protocol.readerFeatures ?? [])].sort(),
      writerFeatures: [...(protocol.writerFeatures ?? [])].sort(),
    }
  );
}

/** The schema's JSON may be written in several ways. */
function parsed(metadata: Metadata | undefined): unknown {
  return metadata && { ...metadata, schemaString: parseJson(metadata.schemaString) };
}

function differingTxn(replayed: LogState, held: LogState): string | undefined {
  for (const [appId, { version }] of held.txns)
    if (replayed.txns.get(appId)?.version !== version) return appId;
  // One that says when it was written may have expired (delta.setTransactionRetentionDuration).
  for (const [appId, { lastUpdated }] of replayed.txns)
    if (!held.txns.has(appId) && lastUpdated === undefined) return appId;
  return undefined;
}

/** A number that differs, all but surely, where the live files differ in name, deletion vector or size; order does not count. */
function digest(state: LogState, root: string): number {
  let sum = 0;
  for (const name of namesOf(state, root)) sum += (hashText(name) >>> 0) + (hashText(`again ${name}`) >>> 8);
  return sum;
}

function* namesOf({ rows, version }: LogState, root: string): Generator<string> {
  for (const add of rows.files(version))
    yield `${fileKey(root, add.path, add.deletionVector)} of ${add.size} bytes`;
}

function someDifference(replayed: LogState, held: LogState, root: string): string {
  const names = new Set(namesOf(replayed, root));
  const extra: string[] = [];
  for (const name of namesOf(held, root)) if (!names.delete(name)) extra.push(name);
  const lacks = [...names][0];
  return [lacks && `it lacks ${lacks}`, extra[0] && `it has ${extra[0]}`].filter(Boolean).join(", ");
}
