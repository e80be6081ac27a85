/** Which batches readers do not see, because the transaction that wrote them was aborted. */

import type { BatchHeader } from "./batch.ts";
import type { AbortedTransaction } from "./fetch-api.ts";

/**
 * Told the batches of one answer in their order; true where the batch belongs to a transaction that was aborted. `aborted` is the answer's
 * list, in any order. `isAbortMarker` is asked of control batches alone.
 */
export function abortedFilter(
  aborted: readonly AbortedTransaction[],
): (
  batch: Pick<BatchHeader, "lastOffset" | "producerId" | "isControl" | "isTransactional">,
  isAbortMarker: () => boolean,
) => boolean {
  const ahead = [...aborted].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const within = new Set<bigint>();
  let next = 0;
  return ({ lastOffset, producerId, isControl, isTransactional }, isAbortMarker) => {
    for (; ahead[next] !== undefined && ahead[next]!.firstOffset <= lastOffset; next++)
      within.add(ahead[next]!.producerId);
    if (!isControl) return isTransactional && within.has(producerId);
    if (within.has(producerId) && isAbortMarker()) within.delete(producerId);
    return false;
  };
}
