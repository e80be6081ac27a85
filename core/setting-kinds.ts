/** How the text of a setting becomes a value: one parser for flags, environment, lab.yaml. */

/** Parses one kind of value. `parse` throws an Error whose message ends the sentence `"x" ...`. */
export type Kind<T> = {
  /** Stands for the value in help: `duration` in `--for <duration>`. Empty for a switch that takes none. */
  placeholder: string;
  parse(text: string): T;
  /** The value as a user writes it, for help and tables. */
  show(value: T): string;
  /** What may stand there word for word, for completion; other texts may be allowed, too. */
  words?: readonly string[];
  /** True where the flag may be repeated; each text gives an array, and the arrays are joined. */
  isList?: boolean;
};

/** A whole number within bounds. */
export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): Kind<number> {
  return {
    placeholder: "n",
    show: String,
    parse(text) {
      const value = Number(text.replaceAll("_", ""));
      if (!/^-?\d[\d_]*$/.test(text)) throw new Error("is no whole number");
      if (value < min || value > max) throw new Error(`is not between ${min} and ${max}`);
      return value;
    },
  };
}

export const port: Kind<number> = { ...integer(0, 65_535), placeholder: "port" };

export const text: Kind<string> = { placeholder: "text", parse: (value) => value, show: (value) => value };

/** Text under another name in help, such as `topic`; `words` are those that mean something of their own. */
export function named(placeholder: string, words: readonly string[] = []): Kind<string> {
  return { ...text, placeholder, words };
}

/** One of a few words. */
export function choice<const T extends string>(...words: readonly T[]): Kind<T> {
  return {
    placeholder: words.join("|"),
    words,
    show: (value) => value,
    parse(value) {
      const word = words.find((one) => one === value);
      if (word === undefined) throw new Error(`is none of ${words.join(", ")}`);
      return word;
    },
  };
}

/** A flag without a value; in the environment 1, true, yes, on or 0, false, no, off. */
export const toggle: Kind<boolean> = {
  placeholder: "",
  show: String,
  parse(value) {
    if (/^(1|true|yes|on)$/i.test(value)) return true;
    if (/^(0|false|no|off|)$/i.test(value)) return false;
    throw new Error("is neither true nor false");
  },
};

/** `on` or `off`, for what is on unless it is switched off. */
export const onOff: Kind<boolean> = {
  placeholder: "on|off",
  words: ["on", "off"],
  show: (value) => (value ? "on" : "off"),
  parse(value) {
    if (value !== "on" && value !== "off") throw new Error("is neither on nor off");
    return value === "on";
  },
};

/** A list: the flag may be repeated, and `separator` also splits one text; null where values may hold any character. */
export function list<T>(kind: Kind<T>, separator: "," | null = ","): Kind<T[]> {
  return {
    placeholder: kind.placeholder,
    ...(kind.words === undefined ? {} : { words: kind.words }),
    isList: true,
    show: (values) => values.map((value) => kind.show(value)).join(","),
    parse(value) {
      const parts = separator === null ? [value] : value.split(separator).map((part) => part.trim());
      return parts.filter((part) => part !== "").map((part) => kind.parse(part));
    },
  };
}

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `2s`, `1.5m`, `1h30m`, `7d`, in milliseconds. */
export const duration: Kind<number> = {
  placeholder: "duration",
  show: (ms) => showWith(ms, { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }),
  parse(value) {
    const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|min|m|h|d)/gy)];
    const isWhole = parts.length > 0 && parts.map(([part]) => part).join("") === value;
    if (!isWhole) throw new Error("is no duration such as 500ms, 2s, 5m, 1h or 7d");
    return parts.reduce(
      (sum, [, amount, unit]) => sum + Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS],
      0,
    );
  },
};

const SIZES = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** `256MiB`, `1GB`, `65536`, in bytes. */
export const bytes: Kind<number> = {
  placeholder: "size",
  show: (size) => showWith(size, { GiB: SIZES.GiB, MiB: SIZES.MiB, KiB: SIZES.KiB, B: 1 }),
  parse(value) {
    const [, amount, unit] = /^(\d+(?:\.\d+)?) ?([kKMGT]i?B|B|)$/.exec(value) ?? [];
    const factor = SIZES[unit?.replace(/^k/, "K") as keyof typeof SIZES];
    if (amount === undefined || factor === undefined)
      throw new Error("is no size such as 64KiB, 256MiB or 1GB");
    return Math.round(Number(amount) * factor);
  },
};

/** `100/s`, `5/m`, `1000` (a second), in events a second. */
export const rate: Kind<number> = {
  placeholder: "rate",
  show: (perSecond) => `${perSecond}/s`,
  parse(value) {
    const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(?:\/(s|sec|m|min|h))?$/.exec(value) ?? [];
    const perSecond = Number(amount) / { s: 1, sec: 1, m: 60, min: 60, h: 3600 }[unit as "s"];
    if (!(perSecond > 0)) throw new Error("is no rate such as 100/s or 5/m");
    return perSecond;
  },
};

/** `KEY=VALUE`. */
export const pair: Kind<[key: string, value: string]> = {
  placeholder: "key=value",
  show: ([key, value]) => `${key}=${value}`,
  parse(value) {
    const at = value.indexOf("=");
    if (at < 1) throw new Error("is not of the form KEY=VALUE");
    return [value.slice(0, at), value.slice(at + 1)];
  },
};

function showWith(value: number, units: Record<string, number>): string {
  const [unit, size] = Object.entries(units).find(([, one]) => value >= one && value % one === 0) ?? ["", 1];
  return `${value / size}${unit}`;
}
