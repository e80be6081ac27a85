/** Limits of the ingest machine for tests in which none is reached. */

import type { Limits } from "../../ingest/state.ts";

export const LIMITS: Limits = {
  flushLatencyMs: 1,
  flushRows: 1,
  flushBytes: 1,
  chunkBytes: 1,
  budgetBytes: 1,
  auditPairs: 1000,
  ends: null,
};
