/** Decimals as text: no digit passes through a double. */

const PLAIN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** A number's text in plain form with exactly `scale` digits after the point; undefined where it is none or has more. */
export function decimalText(text: string, scale: number): string | undefined {
  const found = PLAIN.exec(text.trim());
  if (!found || `${found[2]}${found[3] ?? ""}` === "") return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = found;
  const shift = Number(exponent) + scale;
  // All digits as one whole number that stands for value * 10^scale, once shifted.
  const digits = whole + fraction;
  const places = shift - fraction.length;
  if (Math.abs(places) > 400) return undefined;
  const scaled = places >= 0 ? digits + "0".repeat(places) : digits.slice(0, places || undefined);
  const dropped = places >= 0 ? "" : digits.slice(places);
  if (/[1-9]/.test(dropped)) return undefined;
  return pointed(sign === "-" ? "-" : "", scaled.replace(/^0+/, ""), scale);
}

/** The text of an unscaled whole number, such as -12345 with scale 2: `-123.45`. */
export function unscaledText(unscaled: bigint | string, scale: number): string {
  const text = String(unscaled);
  const sign = text.startsWith("-") ? "-" : "";
  return pointed(sign, text.slice(sign.length), scale);
}

function pointed(sign: string, digits: string, scale: number): string {
  const padded = digits.padStart(scale + 1, "0");
  const text = scale === 0 ? padded : `${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
  return /[1-9]/.test(text) ? sign + text : text;
}
