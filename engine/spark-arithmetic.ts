/** Spark's arithmetic in DuckDB: whole numbers, doubles, and decimals that keep all their digits. What fails is null. */

import type { DataType } from "../delta/types.ts";
import { Untranslatable } from "./spark-lexer.ts";
import {
  commonType,
  converted,
  type Digits,
  decimalType,
  digitsOf,
  isDecimal,
  isExactDouble,
  isIntegral,
  isNumeric,
  type Typed,
  typeName,
} from "./spark-types.ts";
import { sqlType } from "./sql-types.ts";

/** SQL that is null where it fails. */
export const tried = (sql: string) => `TRY(${sql})`;

/** `+ - * / %` of numbers. */
export function arithmetic(sign: string, a: Typed, b: Typed): Typed {
  for (const value of [a, b])
    if (!isNumeric(value.type) && value.type !== "void")
      throw new Untranslatable(`${sign} of a value of type ${typeName(value.type)}`);
  const isWhole = (value: Typed) => isIntegral(value.type) || value.type === "void";
  if (isWhole(a) && isWhole(b)) return wholeArithmetic(sign, a, b);
  const isExact = (value: Typed) => isWhole(value) || isDecimal(value.type);
  if (isExact(a) && isExact(b)) return decimalArithmetic(sign, a, b);
  const type: DataType = a.type === "float" && b.type === "float" ? "float" : "double";
  const mixesFloat =
    type === "double" && [a, b].some((value) => value.type === "float") && [a, b].some(isWhole);
  if (mixesFloat || ![a, b].every((value) => isExactDouble(value) || value.type === "void"))
    throw new Untranslatable(
      `${typeName(a.type)} ${sign} ${typeName(b.type)}: engines convert them in different ways`,
    );
  return binary(sign, a, b, type);
}

/** The same, and `//`, of whole numbers or nulls. */
export function wholeArithmetic(sign: string, a: Typed, b: Typed): Typed {
  if (sign === "/") return binary(sign, a, b, "double");
  if (sign === "//") return binary(sign, a, b, "long");
  const type = commonType([a, b], "value");
  return binary(sign, a, b, type === "void" ? "integer" : type);
}

/** Division by zero is null. */
function binary(sign: string, a: Typed, b: Typed, type: DataType): Typed {
  const result = sign === "/" ? "double" : type;
  const right = converted(b, result);
  const divisor = sign === "/" || sign === "//" || sign === "%" ? `nullif(${right}, 0)` : right;
  return { sql: tried(`${converted(a, result)} ${sign} ${divisor}`), type: result };
}

/** What DuckDB holds in 64 bits. */
const SHORT_DIGITS = 18;

/** Exact as long as all digits of the outcome are kept. */
function decimalArithmetic(sign: string, a: Typed, b: Typed): Typed {
  if (sign !== "+" && sign !== "-" && sign !== "*") throw new Untranslatable(`${sign} of decimals`);
  const [left, right] = [a, b].map((value) =>
    value.type === "void" ? { precision: 1, scale: 0 } : digitsOf(value, "compare"),
  ) as [Digits, Digits];
  if (sign === "*") {
    const type = decimalType({
      precision: left.precision + right.precision + 1,
      scale: left.scale + right.scale,
    });
    // DuckDB keeps the product of two short decimals short, and fails where it is not.
    const wider = {
      ...left,
      precision: right.precision > SHORT_DIGITS ? left.precision : Math.max(left.precision, SHORT_DIGITS + 1),
    };
    const factors = [converted(a, decimalType(wider)), converted(b, decimalType(right))];
    return { sql: tried(`CAST(${factors.join(" * ")} AS ${sqlType(type)})`), type };
  }
  const scale = Math.max(left.scale, right.scale);
  const whole = Math.max(left.precision - left.scale, right.precision - right.scale);
  const type = decimalType({ precision: whole + scale + 1, scale });
  return {
    sql: tried(`CAST(${converted(a, type)} ${sign} ${converted(b, type)} AS ${sqlType(type)})`),
    type,
  };
}
