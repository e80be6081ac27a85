/** The text of a CSV message as records of fields. */

import { CsvError, parse } from "csv-parse/sync";

/** A field as it was written: a quoted one may be empty without being null. */
export type CsvField = { text: string; isQuoted: boolean };

/**
 * The records of `csv`, or what is wrong with its quotes. Text as RFC 4180 has it is split here; csv-parse, which takes ten times as long
 * for one message, has the last word on any other.
 */
export function splitCsv(csv: string, delimiter: string): CsvField[][] | string {
  const records = splitStrictly(csv, delimiter);
  if (records) return records;
  try {
    return parse(csv, {
      delimiter,
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      cast: (text, { quoting }) => ({ text, isQuoted: quoting }),
    }) as unknown as CsvField[][];
  } catch (error) {
    if (error instanceof CsvError) return error.message;
    throw error;
  }
}

/** Undefined where anything is not as it should be, or a carriage return stands where it may mean something. */
function splitStrictly(csv: string, delimiter: string): CsvField[][] | undefined {
  const records: CsvField[][] = [];
  let at = 0;

  function quotedField(): CsvField | undefined {
    const start = at + 1;
    let end = csv.indexOf('"', start);
    let isEscaped = false;
    while (end !== -1 && csv[end + 1] === '"') {
      isEscaped = true;
      end = csv.indexOf('"', end + 2);
    }
    if (end === -1) return undefined;
    at = end + 1;
    const text = csv.slice(start, end);
    return { text: isEscaped ? text.replaceAll('""', '"') : text, isQuoted: true };
  }

  function plainField(): CsvField | undefined {
    const start = at;
    for (; at < csv.length; at++) {
      const unit = csv[at];
      if (unit === delimiter || unit === "\n") break;
      if (unit === '"' || (unit === "\r" && csv[at + 1] !== "\n")) return undefined;
      if (unit === "\r") break;
    }
    return { text: csv.slice(start, at), isQuoted: false };
  }

  while (at < csv.length) {
    const record: CsvField[] = [];
    for (;;) {
      const field = csv[at] === '"' ? quotedField() : plainField();
      if (!field) return undefined;
      record.push(field);
      if (csv[at] !== delimiter) break;
      at++;
    }
    records.push(record);
    if (csv.startsWith("\r\n", at)) at += 2;
    else if (csv[at] === "\n") at++;
    else if (at < csv.length) return undefined;
  }
  return records;
}
