/** Messages from files and standard input: NDJSON as it stands, CSV as one JSON object a row. */

import { createReadStream } from "node:fs";
import { access, constants, open, stat } from "node:fs/promises";
import { addAbortSignal, Readable } from "node:stream";
import { parse } from "csv-parse";
import { LabError } from "../core/errors.ts";
import type { Message, MessageSource } from "./source.ts";

const NEWLINE = 10;
const RETURN = 13;

/** Each line's bytes unchanged, empty lines left out. What is no JSON is sent too: the ingester has the last word on it. */
export function ndjsonSource(path: string): MessageSource {
  return {
    name: path,
    isEndless: false,
    check: () => assertReadable(path),
    async *messages(_from, signal) {
      await assertReadable(path);
      await assertLines(path);
      yield* linesOf(createReadStream(path, { signal }));
    },
  };
}

/** Standard input, a message a line. A stop ends the wait for the next one. */
export function stdinSource(stdin: AsyncIterable<Buffer | string>): MessageSource {
  return {
    name: "-",
    isEndless: false,
    messages(_from, signal) {
      const stream = stdin instanceof Readable ? stdin : Readable.from(stdin);
      return linesOf(addAbortSignal(signal, stream));
    },
  };
}

/**
 * The header names the fields. A cell is a JSON number, true or false where it is written exactly as JSON writes it, null where it is empty,
 * and text otherwise: `007` and `1e3` stay text. SOURCE_UNREADABLE names the line that is broken.
 */
export function csvSource(path: string): MessageSource {
  return {
    name: path,
    isEndless: false,
    check: () => assertReadable(path),
    async *messages(_from, signal) {
      await assertReadable(path);
      const rows = createReadStream(path, { signal }).pipe(
        parse({ columns: assertDistinct, bom: true, skip_empty_lines: true }),
      );
      try {
        for await (const row of rows as AsyncIterable<Record<string, string>>) {
          const fields = Object.entries(row).map(
            ([name, cell]) => `${JSON.stringify(name)}:${cellJson(cell)}`,
          );
          yield { key: null, value: `{${fields.join(",")}}` };
        }
      } catch (error) {
        signal.throwIfAborted();
        throw new LabError("SOURCE_UNREADABLE", `${path}: ${(error as Error).message}`, {
          hint: "every row needs as many cells as the header; quote cells that hold commas or line breaks",
          cause: error,
        });
      }
    },
  };
}

/** A cell in JSON: its own text where that is a canonical number or boolean, so that no digit is lost. */
export function cellJson(cell: string): string {
  if (cell === "") return "null";
  if (cell === "true" || cell === "false" || /^-?(0|[1-9]\d*)(\.\d+)?$/.test(cell)) return cell;
  return JSON.stringify(cell);
}

async function* linesOf(chunks: AsyncIterable<Buffer | string>): AsyncIterable<Message> {
  let rest: Buffer[] = [];
  let number = 0;
  const message = (line: Buffer): Message[] => {
    number += 1;
    const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
    return end === 0 ? [] : [{ key: null, value: line.subarray(0, end), line: number }];
  };
  for await (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      const line = bytes.subarray(from, at);
      yield* message(rest.length === 0 ? line : Buffer.concat([...rest, line]));
      rest = [];
      from = at + 1;
    }
    if (from < bytes.length) rest.push(bytes.subarray(from));
  }
  yield* message(Buffer.concat(rest));
}

/** Two columns of one name would be one field, and the cells of one of them lost. */
function assertDistinct(names: string[]): string[] {
  const doubled = names.find((name, at) => names.indexOf(name) !== at);
  if (doubled !== undefined) throw new Error(`two columns are named ${JSON.stringify(doubled)}, line 1`);
  return names;
}

/** A JSON file may hold one array over many lines, which would be sent as broken pieces. */
async function assertLines(path: string): Promise<void> {
  if (!/\.json$/i.test(path)) return;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64);
    if (!buffer.toString("utf8", 0, bytesRead).trimStart().startsWith("[")) return;
  } finally {
    await file.close();
  }
  throw new LabError("SOURCE_UNREADABLE", `${path} holds one JSON array, not a JSON value a line`, {
    hint: `make lines of it: jq -c '.[]' ${path} > lines.ndjson`,
  });
}

async function assertReadable(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK);
    if ((await stat(path)).isDirectory()) throw new Error("it is a folder");
  } catch (error) {
    throw new LabError("SOURCE_UNREADABLE", `cannot read ${path}: ${(error as Error).message}`, {
      hint: "give a file that ends in .ndjson, .jsonl or .csv, - for standard input, or dummy or orders",
      cause: error,
    });
  }
}
