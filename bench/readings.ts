/** The columns of the tables that benchmarks make: what devices tell, day by day. */

import type { DataType, StructType } from "../delta/types.ts";

const COLUMNS: Record<string, DataType> = {
  id: "long",
  at: "timestamp",
  device: "string",
  amount: "decimal(12,2)",
  reading: "double",
  note: "string",
  day: "date",
};
export const SCHEMA: StructType = {
  type: "struct",
  fields: Object.entries(COLUMNS).map(([name, type]) => ({ name, type, nullable: true, metadata: {} })),
};
