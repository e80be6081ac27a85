/** Delta's schema types as JSON says them (PROTOCOL.md, "Schema Serialization Format"). */

export type PrimitiveType =
  | "string"
  | "long"
  | "integer"
  | "short"
  | "byte"
  | "float"
  | "double"
  | "boolean"
  | "binary"
  | "date"
  | "timestamp"
  | "timestamp_ntz"
  | "variant"
  | "void"
  | `decimal(${number},${number})`;

export type StructField = {
  name: string;
  type: DataType;
  nullable: boolean;
  /** Kept through any change of the schema, known keys or not. */
  metadata: Readonly<Record<string, unknown>>;
};

export type StructType = { type: "struct"; fields: readonly StructField[] };
export type ArrayType = { type: "array"; elementType: DataType; containsNull: boolean };
export type MapType = { type: "map"; keyType: DataType; valueType: DataType; valueContainsNull: boolean };
export type DataType = PrimitiveType | StructType | ArrayType | MapType;
