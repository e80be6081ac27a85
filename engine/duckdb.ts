/** DuckDB itself, to be loaded late: a build of the sources gives a package that is no module its names only where they are imported by name. */

export {
  DuckDBBigIntVector,
  DuckDBBlobVector,
  DuckDBDoubleVector,
  DuckDBInstance,
  DuckDBIntegerVector,
} from "@duckdb/node-api";
