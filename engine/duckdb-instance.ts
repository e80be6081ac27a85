/** DuckDB's own code, in a file by itself: what imports this file dynamically loads it when it is needed first. */

export { DuckDBInstance } from "@duckdb/node-api";
