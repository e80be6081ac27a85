import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { splitCsv } from "./csv-split.ts";

/** As the library alone says it. */
function parsed(csv: string, delimiter: string): unknown {
  try {
    return parse(csv, {
      delimiter,
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      cast: (text, { quoting }) => ({ text, isQuoted: quoting }),
    });
  } catch (error) {
    return (error as Error).message;
  }
}

test("any text is split, or refused, as csv-parse does it", () => {
  const units = fc.constantFrom(
    "a",
    ",",
    ";",
    '"',
    '""',
    "\n",
    "\r\n",
    "\r",
    " ",
    "é",
    "\ufeff",
    '"x"',
    '"x,"',
  );
  fc.assert(
    fc.property(
      fc.array(units, { maxLength: 12 }),
      fc.constantFrom(",", ";", "\t", " "),
      (pieces, delimiter) => {
        const csv = pieces.join("");
        assert.deepEqual(splitCsv(csv, delimiter), parsed(csv, delimiter), JSON.stringify(csv));
      },
    ),
    { numRuns: 5000 },
  );
});
