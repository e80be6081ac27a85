/** JSON numbers taken exactly, digit by digit. */

/** `digits` times ten to the `exponent`; no zero at the end of the digits, none at the start. Zero is "0" with exponent 0. */
export type ExactDecimal = { isNegative: boolean; digits: string; exponent: number };

/** The value of a number as JSON writes it, whatever its size. */
export function exactDecimal(json: string): ExactDecimal {
  const [, sign, whole, fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    json,
  )!;
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = withoutEndZeros(all);
  if (digits === "") return { isNegative: false, digits: "0", exponent: 0 };
  return {
    isNegative: sign === "-",
    digits,
    exponent: Number(power) - fraction.length + all.length - digits.length,
  };
}

/** The text up to its last character that is no "0". An expression for that takes a time that grows with the square of the zeros in it. */
export function withoutEndZeros(text: string): string {
  let end = text.length;
  while (text[end - 1] === "0") end--;
  return text.slice(0, end);
}

/** Without exponent, as decimal(precision, scale) holds it; undefined where it does not, or not without rounding. */
export function plainDecimal(value: ExactDecimal, precision: number, scale: number): string | undefined {
  const { digits, exponent } = value;
  const decimals = Math.max(0, -exponent);
  if (decimals > scale || digits.length + exponent > precision - scale) return undefined;
  const whole = exponent >= 0 ? digits + "0".repeat(exponent) : digits.slice(0, exponent) || "0";
  const fraction = decimals === 0 ? "" : `.${digits.slice(exponent).padStart(decimals, "0")}`;
  return `${value.isNegative ? "-" : ""}${whole}${fraction}`;
}
