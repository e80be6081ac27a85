/** What a Parquet file holds, from its footer (parquet-format, `FileMetaData`). */

import { readStruct, type ThriftStruct, type ThriftValue } from "./thrift.ts";

/** A field of the schema. Levels are those of a value that is there. */
export type Node = {
  name: string;
  repetition: "required" | "optional" | "repeated";
  definition: number;
  repeated: number;
  children: Node[];
  /** Of leaves: which column it is, and its physical type. */
  column?: number;
  type?: number;
};

export type ColumnChunk = {
  codec: number;
  values: number;
  /** Undefined where the writer does not tell. */
  nulls: number | undefined;
  start: number;
  end: number;
};

export type Footer = { fields: Node[]; rowGroups: { rows: number; columns: ColumnChunk[] }[] };

const MAGIC = "PAR1";
const REPETITIONS = ["required", "optional", "repeated"] as const;

/** RangeError where the bytes are no Parquet file. */
export function readFooter(bytes: Uint8Array): Footer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = bytes.length >= 12 ? text.readUInt32LE(bytes.length - 8) : 0;
  const start = bytes.length - 8 - size;
  if (text.toString("latin1", bytes.length - 4) !== MAGIC || start < 4)
    throw new RangeError("it is not a whole Parquet file");
  const { struct } = readStruct(bytes.subarray(start, bytes.length - 8), 0);
  const { fields, columns } = readSchema(structs(struct.get(2)));
  const rowGroups = structs(struct.get(4)).map((group) => {
    const chunks = structs(group.get(1)).map((chunk) => readChunk(chunk, start));
    if (chunks.length !== columns) throw new RangeError("a row group lacks columns");
    return { rows: count(group.get(3)), columns: chunks };
  });
  return { fields, rowGroups };
}

/** The schema is a list in the order of a walk; its first element is the root. */
function readSchema(elements: readonly ThriftStruct[]): { fields: Node[]; columns: number } {
  let at = 0;
  let columns = 0;
  const next = (parent: { definition: number; repeated: number }): Node => {
    const element = elements[at++];
    if (!element) throw new RangeError("the schema lacks fields");
    const repetition = at === 1 ? "required" : REPETITIONS[count(element.get(3))];
    if (!repetition) throw new RangeError("the schema has a field of no kind");
    const node: Node = {
      name: Buffer.from(element.get(4) as Uint8Array).toString("utf8"),
      repetition,
      definition: parent.definition + (repetition === "required" ? 0 : 1),
      repeated: parent.repeated + (repetition === "repeated" ? 1 : 0),
      children: [],
    };
    const children = element.get(5) === undefined ? 0 : count(element.get(5));
    if (children === 0 && at > 1) return { ...node, column: columns++, type: count(element.get(1)) };
    for (let child = 0; child < children; child++) node.children.push(next(node));
    return node;
  };
  return { fields: next({ definition: 0, repeated: 0 }).children, columns };
}

/** `limit` is where the footer starts: no page is behind it. */
function readChunk(chunk: ThriftStruct, limit: number): ColumnChunk {
  const about = chunk.get(3);
  if (!(about instanceof Map)) throw new RangeError("a column says nothing of itself");
  const firstPage = count(about.get(9));
  const dictionary = about.get(11) === undefined ? 0 : count(about.get(11));
  const start = dictionary > 0 ? Math.min(dictionary, firstPage) : firstPage;
  const end = start + count(about.get(7));
  if (start < MAGIC.length || end > limit) throw new RangeError("a column is outside of the file");
  const nulls = (about.get(12) as ThriftStruct | undefined)?.get(3);
  return {
    codec: count(about.get(4)),
    values: count(about.get(5)),
    nulls: nulls === undefined ? undefined : count(nulls),
    start,
    end,
  };
}

function structs(value: ThriftValue | undefined): readonly ThriftStruct[] {
  if (Array.isArray(value) && value.every((item) => item instanceof Map)) return value;
  throw new RangeError("the footer lacks a list");
}

function count(value: ThriftValue | undefined): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError("the footer lacks a number");
}
