/** Constants whose value is plain from the syntax tree: most are, and need no query. */

import { LosslessNumber } from "lossless-json";
import { unscaledText } from "../delta/decimal.ts";
import type { DataType } from "../delta/types.ts";
import { isLiteral, NULL_CONSTANT, type TypedConstant, typedConstant } from "./prune-typing.ts";
import { isNode, type TreeNode } from "./sql-tree.ts";

/** Of so many digits each reader makes the same double, wherever the point is. */
const EXACT_DIGITS = 15;
const WHOLE = new Set(["TINYINT", "SMALLINT", "INTEGER", "BIGINT"]);
/** Spelled so, each reader takes them for the same. */
const DATE = /^[1-9]\d{3}-\d\d-\d\d$/;
const TIMESTAMP = /^[1-9]\d{3}-\d\d-\d\d ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$/;

/** The constant that a node is to a column of this type; undefined where it takes DuckDB to tell. */
export function plainConstant(node: TreeNode, type: DataType): TypedConstant | undefined {
  if (node.class === "CAST") return plainDate(node, type);
  const { value } = node;
  if (node.class !== "CONSTANT" || !isNode(value) || !isNode(value.type)) return undefined;
  if (value.is_null === true) return NULL_CONSTANT;
  const text = String(value.value);
  if (isLiteral(node)) return isPlainText(type, text) ? typedConstant(type, "literal", text) : undefined;
  if (type === "float" || !(value.value instanceof LosslessNumber)) return undefined;
  if (type === "double" && text.replace(/^-/, "").length > EXACT_DIGITS) return undefined;
  const id = String(value.type.id);
  if (WHOLE.has(id)) return typedConstant(type, id, text);
  if (id !== "DECIMAL" || !isNode(value.type.type_info)) return undefined;
  const [width, scale] = [value.type.type_info.width, value.type.type_info.scale].map(String);
  return typedConstant(type, `DECIMAL(${width},${scale})`, unscaledText(text, Number(scale)));
}

function isPlainText(type: DataType, text: string): boolean {
  if (type === "string") return true;
  if (type === "date") return DATE.test(text);
  return (type === "timestamp" || type === "timestamp_ntz") && TIMESTAMP.test(text);
}

function plainDate(node: TreeNode, type: DataType): TypedConstant | undefined {
  if (!isNode(node.child) || !isNode(node.cast_type) || !isLiteral(node.child)) return undefined;
  const text = String((node.child.value as TreeNode).value);
  return node.cast_type.id === "DATE" && DATE.test(text) ? typedConstant(type, "DATE", text) : undefined;
}
