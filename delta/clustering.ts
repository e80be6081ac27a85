/** Clustered tables (PROTOCOL.md, "Clustered Table"): files need not be clustered, but need statistics to be clustered by. */

import type { Add, DomainMetadata } from "./actions.ts";
import { parseJson } from "./json.ts";
import { unsupported } from "./protocol.ts";

/**
 * The columns a table is clustered by, as paths of (physical) names; none where it is not clustered. Writers spell a column as a list of names or as
 * one name.
 */
export function clusteringColumns(domains: ReadonlyMap<string, DomainMetadata>): string[][] {
  const domain = domains.get("delta.clustering");
  if (!domain) return [];
  const { clusteringColumns: columns } = parseJson(domain.configuration) as { clusteringColumns?: unknown };
  if (!Array.isArray(columns)) return [];
  return columns.map((column) => (Array.isArray(column) ? column.map(String) : [String(column)]));
}

/** UNSUPPORTED_FEATURE naming the first clustering column that a new file has no statistics of. */
export function checkClusteringStats(adds: readonly Add[], columns: readonly (readonly string[])[]): void {
  if (columns.length === 0) return;
  for (const add of adds) {
    const { nullCount } = parseJson(add.stats ?? "{}") as { nullCount?: unknown };
    for (const column of columns) {
      const known = column.reduce<unknown>(
        (at, name) => (at as Record<string, unknown> | undefined)?.[name],
        nullCount,
      );
      if (known === undefined)
        throw unsupported(`clustering (statistics of ${column.join(".")} in ${add.path})`, "written");
    }
  }
}
