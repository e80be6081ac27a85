/** DuckDB's types as Delta's: what columns a result can become. */

import {
  type DuckDBDecimalType,
  type DuckDBListType,
  type DuckDBMapType,
  type DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from "@duckdb/node-api";
import type { DataType, StructField } from "../delta/types.ts";

const SIMPLE: Readonly<Record<number, DataType>> = {
  [DuckDBTypeId.BOOLEAN]: "boolean",
  [DuckDBTypeId.TINYINT]: "byte",
  [DuckDBTypeId.SMALLINT]: "short",
  [DuckDBTypeId.INTEGER]: "integer",
  [DuckDBTypeId.BIGINT]: "long",
  [DuckDBTypeId.UTINYINT]: "short",
  [DuckDBTypeId.USMALLINT]: "integer",
  [DuckDBTypeId.UINTEGER]: "long",
  [DuckDBTypeId.UBIGINT]: "decimal(20,0)",
  [DuckDBTypeId.HUGEINT]: "decimal(38,0)",
  [DuckDBTypeId.FLOAT]: "float",
  [DuckDBTypeId.DOUBLE]: "double",
  [DuckDBTypeId.VARCHAR]: "string",
  [DuckDBTypeId.ENUM]: "string",
  [DuckDBTypeId.UUID]: "string",
  [DuckDBTypeId.BLOB]: "binary",
  [DuckDBTypeId.DATE]: "date",
  [DuckDBTypeId.TIMESTAMP_TZ]: "timestamp",
  [DuckDBTypeId.TIMESTAMP]: "timestamp_ntz",
  // An untyped NULL: anything may follow.
  [DuckDBTypeId.SQLNULL]: "string",
};

/** The Delta type that holds every value of a DuckDB type; undefined where Delta has none, as for TIME or INTERVAL. */
export function deltaType(type: DuckDBType): DataType | undefined {
  switch (type.typeId) {
    case DuckDBTypeId.DECIMAL: {
      const { width, scale } = type as DuckDBDecimalType;
      return `decimal(${width},${scale})`;
    }
    case DuckDBTypeId.LIST: {
      const elementType = deltaType((type as DuckDBListType).valueType);
      return elementType && { type: "array", elementType, containsNull: true };
    }
    case DuckDBTypeId.MAP: {
      const map = type as DuckDBMapType;
      const [keyType, valueType] = [deltaType(map.keyType), deltaType(map.valueType)];
      return keyType && valueType && { type: "map", keyType, valueType, valueContainsNull: true };
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      const fields: StructField[] = [];
      for (const [i, name] of entryNames.entries()) {
        const fieldType = deltaType(entryTypes[i]!);
        if (fieldType === undefined) return undefined;
        fields.push({ name, type: fieldType, nullable: true, metadata: {} });
      }
      return { type: "struct", fields };
    }
    default:
      return SIMPLE[type.typeId];
  }
}
