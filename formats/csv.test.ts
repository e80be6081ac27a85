import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { type CsvOptions, createCsvDecoder } from "./csv.ts";

function struct(fields: Record<string, DataType>): StructType {
  const list = Object.entries(fields).map(([name, type]) => ({ name, type, nullable: true, metadata: {} }));
  return { type: "struct", fields: list };
}

const TWO = struct({ a: "string", b: "string" });

function decode(text: string | Uint8Array | null, options: Partial<CsvOptions> = {}): string {
  const decoder = createCsvDecoder({ columns: TWO, ...options });
  const decoded = decoder.decode(typeof text === "string" ? Buffer.from(text) : text);
  if ("bad" in decoded) return `${decoded.bad.stage} ${decoded.bad.code}`;
  assert.equal(decoded.objects.length, 1);
  return Buffer.from(decoded.objects[0]!).toString();
}

test("fields are columns by their place, with or without an end of the line", () => {
  for (const end of ["", "\n", "\r\n"]) assert.equal(decode(`x, y${end}`), '{"a":"x","b":" y"}');
});

test("quotes keep delimiters, ends of lines and quotes", () => {
  assert.equal(decode('"x,1\r\n","a ""b"" c"\r\n'), '{"a":"x,1\\r\\n","b":"a \\"b\\" c"}');
});

test("an empty field is null, an empty text in quotes is a text", () => {
  assert.equal(decode(',""'), '{"a":null,"b":""}');
  assert.equal(decode(","), '{"a":null,"b":null}');
  assert.equal(decode("\n", { columns: struct({ only: "string" }) }), '{"only":null}');
});

test("with a header, fields are columns by name, and those that no schema knows are texts", () => {
  const header = true;
  assert.equal(decode("b,a\n1,2", { header }), '{"b":"1","a":"2"}');
  assert.equal(decode('"b x",n\r\n1,2\r\n', { header, columns: null }), '{"b x":"1","n":"2"}');
  assert.equal(decode("n,m\n007,1", { header, columns: struct({ m: "long" }) }), '{"n":"007","m":1}');
  assert.equal(
    decode("__proto__,constructor\n1,2", { header, columns: null }),
    '{"__proto__":"1","constructor":"2"}',
  );
});

test("another delimiter splits as well, and the comma then does not", () => {
  assert.equal(decode('1,5;"2;3"', { delimiter: ";" }), '{"a":"1,5","b":"2;3"}');
  assert.equal(decode("1,5\t2", { delimiter: "\t" }), '{"a":"1,5","b":"2"}');
});

test("numbers and booleans are said as JSON, digit for digit; what is none stays a text for the encoder to refuse", () => {
  const cases: [DataType, string, string][] = [
    ["long", "9223372036854775808", "9223372036854775808"],
    ["double", "-1.50e+300", "-1.50e+300"],
    ["decimal(10,2)", "0.10", "0.10"],
    ["integer", "007", '"007"'],
    ["integer", "+1", '"+1"'],
    ["integer", " 1", '" 1"'],
    ["integer", '""', '""'],
    ["double", ".5", '".5"'],
    ["double", "NaN", '"NaN"'],
    ["double", "Infinity", '"Infinity"'],
    ["double", "1_000", '"1_000"'],
    ["boolean", "true", "true"],
    ["boolean", "FALSE", "false"],
    ["boolean", "1", '"1"'],
    ["boolean", "yes", '"yes"'],
    ["string", "1", '"1"'],
    ["string", "null", '"null"'],
    ["timestamp", "2024-01-01T00:00:00Z", '"2024-01-01T00:00:00Z"'],
    ["date", "2024-01-01", '"2024-01-01"'],
    ["binary", "AAE=", '"AAE="'],
    [{ type: "array", elementType: "long", containsNull: true }, '"[1, 2.0]"', "[1, 2.0]"],
    [struct({ x: "long" }), '"{""x"":9007199254740993}"', '{"x":9007199254740993}'],
    [struct({ x: "long" }), '"{""x"":1}}"', '"{\\"x\\":1}}"'],
    [struct({ x: "long" }), "1", '"1"'],
  ];
  for (const [type, text, json] of cases)
    assert.equal(decode(text, { columns: struct({ c: type }) }), `{"c":${json}}`, `${type} ${text}`);
});

test("too many or too few fields, several records and doubled columns are bad", () => {
  assert.equal(decode("1"), "decode WRONG_COLUMN_COUNT");
  assert.equal(decode("1,2,3"), "decode WRONG_COLUMN_COUNT");
  assert.equal(decode('1,"2",3'), "decode WRONG_COLUMN_COUNT");
  assert.equal(decode("1,2\n3,4"), "decode SEVERAL_RECORDS");
  assert.equal(decode('1,"2"\r\n3,4'), "decode SEVERAL_RECORDS");
  assert.equal(decode("1,2\n\n"), "decode SEVERAL_RECORDS");
  assert.equal(decode("a,b\n1,2\n3,4", { header: true }), "decode SEVERAL_RECORDS");
  assert.equal(decode("a,a\n1,2", { header: true }), "decode DUPLICATE_COLUMN");
  assert.equal(decode("a,b\n1", { header: true }), "decode WRONG_COLUMN_COUNT");
});

test("a header of very many columns is no reason to wait", () => {
  const names = Array.from({ length: 200_000 }, (_, i) => `c${i}`);
  const text = `${names.join(",")},c0\n${"1,".repeat(200_000)}1`;
  const begun = process.cpuUsage();
  assert.equal(decode(text, { header: true, columns: null }), "decode DUPLICATE_COLUMN");
  assert.ok(process.cpuUsage(begun).user < 5e6);
});

test("quotes that do not match are bad, and so is what stands beside them", () => {
  for (const text of ['"x,y', 'x"y,z', '"x"y,z', '"x" ,y', ' "x",y', '"x","y"\r'])
    assert.equal(decode(text), "decode MALFORMED_CSV", text);
});

test("what is said of a long value is short", () => {
  const decoder = createCsvDecoder({ columns: null, header: true });
  const long = "x".repeat(100_000);
  for (const text of [`${long},${long}\n1,2`, `a\n${long}"`]) {
    const decoded = decoder.decode(Buffer.from(text));
    assert.ok("bad" in decoded && decoded.bad.message.length < 600);
  }
});

test("a carriage return without a newline is a character like others", () => {
  assert.equal(decode("x\ry,z"), '{"a":"x\\ry","b":"z"}');
});

test("no value, no bytes, no record: bad", () => {
  assert.equal(decode(null), "decode NULL_VALUE");
  assert.equal(decode(""), "decode EMPTY_VALUE");
  assert.equal(decode("\ufeff"), "decode EMPTY_VALUE");
  assert.equal(decode("a,b\n", { header: true }), "decode EMPTY_VALUE");
});

test("a byte order mark at the start is left out, bytes that are no text are bad", () => {
  assert.equal(decode('\ufeff"x",\ufeffy'), '{"a":"x","b":"\ufeffy"}');
  assert.equal(decode("\ufeffa,b\n1,2", { header: true }), '{"a":"1","b":"2"}');
  assert.equal(decode(Buffer.from("x,\xe9", "latin1")), "decode INVALID_UTF8");
});

test("what another writer quotes is read back, and the short way without quotes reads the same", () => {
  const text = fc.string({ unit: fc.constantFrom("a", ",", "\n", "\r", '"', " ", "é", "\ufeff", "1") });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), fc.boolean(), (texts, isAlwaysQuoted) => {
      const written = texts.map((field) =>
        isAlwaysQuoted || /[",\r\n\ufeff]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
      );
      const columns = struct(Object.fromEntries(texts.map((_, i) => [`c${i}`, "string"])));
      const values = JSON.parse(decode(`${written.join(",")}\n`, { columns }));
      const isNull = (field: string) => field === "" && !isAlwaysQuoted;
      assert.deepEqual(
        Object.values(values),
        texts.map((field) => (isNull(field) ? null : field)),
      );
    }),
    { numRuns: 500 },
  );
});

test("any text is one row or bad, never an error", () => {
  const soup = fc.string({ unit: fc.constantFrom("a", ",", "\n", "\r", '"', " ", "1"), maxLength: 12 });
  const decoder = createCsvDecoder({ columns: TWO });
  const headed = createCsvDecoder({ columns: TWO, header: true });
  fc.assert(
    fc.property(soup, (text) => {
      for (const each of [decoder, headed]) {
        const decoded = each.decode(Buffer.from(text));
        if ("objects" in decoded) JSON.parse(Buffer.from(decoded.objects[0]!).toString());
      }
    }),
    { numRuns: 1000 },
  );
});

test("delimiters that are none, and columns without names, are refused at the start", () => {
  for (const delimiter of ["", ", ", '"', "\n", "\r"])
    assert.throws(
      () => createCsvDecoder({ columns: TWO, delimiter }),
      (error) => isLabError(error, "CONFIG_INVALID"),
    );
  assert.throws(
    () => createCsvDecoder({ columns: null }),
    (error) => isLabError(error, "CONFIG_INVALID"),
  );
  assert.equal(createCsvDecoder({ columns: null, header: true }).schema(), null);
  assert.equal(createCsvDecoder({ columns: TWO }).schema(), TWO);
});
