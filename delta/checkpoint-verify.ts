/** A checkpoint outlives the commits it stands for, so it is read back before anybody can rely on it. */

import { isDeepStrictEqual } from "node:util";
import { LabError } from "../core/errors.ts";
import type { DomainMetadata, Txn } from "./actions.ts";
import { readCheckpoint } from "./checkpoint-read.ts";
import type { PackedBlock } from "./slice.ts";
import type { Snapshot } from "./table.ts";

export type CheckpointCheck = {
  /** Counts what is in one of the checkpoint's files, as a reader finds it. */
  read(bytes: Uint8Array, path: string): Promise<void>;
  /** INTERNAL where the files together do not hold the snapshot with these transactions. */
  finish(snapshot: Snapshot, txns: ReadonlyMap<string, Txn>): void;
};

export function checkpointCheck(): CheckpointCheck {
  const found = {
    numFiles: 0,
    sizeBytes: 0,
    txns: new Map<string, Txn>(),
    domains: new Map<string, DomainMetadata>(),
    protocol: {},
    metadata: {},
  };
  return {
    async read(bytes, path) {
      const packed = new Set<PackedBlock>();
      await readCheckpoint(bytes, path, {
        row(row) {
          if ("add" in row) {
            found.numFiles++;
            found.sizeBytes += row.add.size;
            const { stats } = row.add;
            if (typeof stats === "object" && "block" in stats) packed.add(stats.block);
          } else if ("txn" in row) found.txns.set(row.txn.appId, row.txn);
          else if ("domainMetadata" in row) found.domains.set(row.domainMetadata.domain, row.domainMetadata);
          else if ("protocol" in row) found.protocol = row.protocol;
          else if ("metaData" in row) found.metadata = row.metaData;
        },
      });
      // A reader leaves these alone until it needs them.
      for (const block of packed) block.unpack();
    },
    finish({ version, numFiles, sizeBytes, protocol, metadata, domains }, txns) {
      const wanted = { numFiles, sizeBytes, txns, domains: domains(), protocol, metadata };
      for (const key of Object.keys(wanted) as (keyof typeof wanted)[]) {
        if (!isDeepStrictEqual(found[key], wanted[key]))
          throw new LabError(
            "INTERNAL",
            `the checkpoint made for version ${version} does not hold its ${key}; it is not used`,
            { details: { version, key } },
          );
      }
    },
  };
}
