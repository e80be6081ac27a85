/** Reads Parquet checkpoints as nearly all writers make them, column by column; statistics stay packed as they stand in the file. */

import { setImmediate } from "node:timers/promises";
import type { PartitionValues } from "./actions.ts";
import { COPIES, kindOf, leavesOf, type Plan, planOf } from "./checkpoint-plan.ts";
import { CHECKPOINT_ACTIONS, type CheckpointRow, type RowSink, toRow } from "./checkpoint-row.ts";
import { toAction } from "./commit-file.ts";
import type { LiveFile } from "./file-rows.ts";
import { type ColumnChunk, type Footer, type Node, readFooter } from "./parquet/footer.ts";
import { type Leaf, leafReader, type Packed, type Value } from "./parquet/leaf.ts";
import { newScratch, type Scratch } from "./parquet/scratch.ts";
import { type PackedText, type Slice, sliceText } from "./slice.ts";

/** Rows until others have their turn. */
const TURN = 8192;

/** Fewer bytes than a file of a table takes in a checkpoint: what the footer says of rows may be wrong. */
const FEWEST_BYTES = 16;

/** Partitions remembered while a file is read. */
const MOST_KNOWN = 10_000;

/**
 * Above this size, in bytes, statistics stay packed: to unpack them is most of the work, and most of the memory, and many who open a table
 * ask for none.
 */
const LARGE = 2 ** 17;

/** Each call gives what the next row has, without nulls; undefined where it has nothing. */
type Reader = () => unknown;

/**
 * Gives all rows to `sink`, or false where the file has a form that is not read here. RangeError, TypeError where it is damaged; where that
 * shows only when the statistics of a large checkpoint are asked for, what `packed` makes of it.
 */
export async function readColumns(
  bytes: Uint8Array,
  sink: RowSink,
  { packed, large = LARGE, signal }: { packed: Packed; large?: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const footer = readFooter(bytes);
  const pages = planOf(bytes, footer);
  if (!pages) return false;
  const rows = footer.rowGroups.reduce((sum, group) => sum + group.rows, 0);
  sink.expect?.(Math.min(rows, Math.floor(bytes.length / FEWEST_BYTES)));
  await readGroups(footer, pages, { packed: bytes.length > large ? packed : undefined, sink, signal });
  return true;
}

async function readGroups(
  { fields, rowGroups }: Footer,
  pages: Plan,
  { packed, sink, signal }: { packed: Packed | undefined; sink: RowSink; signal: AbortSignal | undefined },
): Promise<void> {
  const scratches: Scratch[] = [];
  for (const field of fields) {
    if (!CHECKPOINT_ACTIONS.includes(field.name)) continue;
    const leaves = leavesOf(field);
    const isIn = ({ columns }: Footer["rowGroups"][number]) =>
      !leaves.every((leaf) => isAllNullIn(leaf, columns));
    const chunks = rowGroups.filter(isIn).map(({ columns }) => columns);
    if (chunks.length === 0) continue;
    const { begin, absent, skip, next } = rowReader(field, { chunks, packed, scratches });
    for (const [at, group] of rowGroups.entries()) {
      if (!isIn(group)) continue;
      begin(pages[at]!);
      for (let row = 0; row < group.rows; ) {
        for (const end = Math.min(group.rows, row + TURN); row < end; ) {
          const gap = absent(end - row);
          if (gap > 0) skip(gap);
          else {
            const one = next();
            if (one) sink.row(one);
          }
          row += Math.max(1, gap);
        }
        // Others have their turn.
        await setImmediate();
        signal?.throwIfAborted();
      }
    }
  }
}

/** Most columns of most checkpoints. */
function isAllNull(leaf: Node, chunks: Group["chunks"]): boolean {
  return chunks.every((columns) => isAllNullIn(leaf, columns));
}

function isAllNullIn(leaf: Node, columns: readonly ColumnChunk[]): boolean {
  const { nulls, values } = columns[leaf.column!]!;
  return nulls === values;
}

/** A list may be there and empty. */
function isNowhere(leaf: Node, chunks: Group["chunks"]): boolean {
  return leaf.repeated === 0 && isAllNull(leaf, chunks);
}

type RowReader = Pick<Leaf, "absent" | "skip"> & {
  /** From now on the rows are those of these pages, by column, which belong to one row group. */
  begin(pages: Plan[number]): void;
  next(): CheckpointRow | undefined;
};

type Group = {
  /** What the footer tells of the row groups that are to be read. */
  chunks: readonly (readonly ColumnChunk[])[];
  packed: Packed | undefined;
  /** Comes to hold those of the columns that have anything. */
  leaves: { leaf: Leaf; column: number }[];
  /** Of the fields before, which nobody reads any more. */
  scratches: Scratch[];
};

/** One for all row groups, as each of its leaves is. */
function rowReader(field: Node, about: Omit<Group, "leaves">): RowReader {
  const group: Group = { ...about, leaves: [] };
  const reader = field.name === "add" ? addReader(field, group) : actionReader(field, group);
  return {
    ...reader,
    begin(pages) {
      for (const { leaf, column } of group.leaves) leaf.begin(pages.get(column)!);
    },
  };
}

const nothing = () => undefined;
const NULLS: Leaf = {
  begin: nothing,
  absent: (most) => most,
  skip: nothing,
  next: nothing,
  nextList: nothing,
};

function leafOf(node: Node, { chunks, leaves, scratches }: Group, packed?: Packed): Leaf {
  if (isNowhere(node, chunks)) return NULLS;
  scratches[leaves.length] ??= newScratch();
  const leaf = leafReader(node, { packed, scratch: scratches[leaves.length]! });
  leaves.push({ leaf, column: node.column! });
  return leaf;
}

/** One row or a few are of most actions: what lies between is passed over. */
function actionReader(field: Node, group: Group): Omit<RowReader, "begin"> {
  const read = structReader(field.children, group);
  const { leaves } = group;
  return {
    absent: (most) => leaves.reduce((gap, { leaf }) => (gap === 0 ? 0 : leaf.absent(gap)), most),
    skip(rows) {
      for (const { leaf } of leaves) leaf.skip(rows);
    },
    next() {
      const body = read();
      return body && toRow({ [field.name]: body });
    },
  };
}

function readerOf(node: Node, group: Group): Reader {
  switch (kindOf(node)) {
    case "leaf": {
      const leaf = leafOf(node, group);
      return () => plain(leaf.next());
    }
    case "list": {
      const [element = node.children[0]!] = node.children[0]!.children;
      const leaf = leafOf(element, group);
      return () => leaf.nextList()?.map(plain);
    }
    case "map": {
      const [keys, values] = node.children[0]!.children.map((child) => leafOf(child, group));
      return () => pairs(keys!.nextList(), values!.nextList());
    }
    default:
      return structReader(node.children, group);
  }
}

/** A struct whose fields are all null counts as null: some writers mark absence only in the leaves. */
function structReader(fields: readonly Node[], group: Group): () => Record<string, unknown> | undefined {
  const readers = fields
    .filter((field) => !leavesOf(field).every((leaf) => isNowhere(leaf, group.chunks)))
    .map((field) => ({ name: field.name, read: readerOf(field, group) }));
  return () => {
    let body: Record<string, unknown> | undefined;
    for (let at = 0; at < readers.length; at++) {
      const { name, read } = readers[at]!;
      const value = read();
      if (value === undefined) continue;
      body ??= {};
      body[name] = value;
    }
    return body;
  };
}

/** Adds are most of a checkpoint. */
function addReader(field: Node, group: Group): Omit<RowReader, "begin"> {
  const child = (name: string) =>
    field.children.find((node) => node.name === name && node.column !== undefined);
  const leaf = (name: string, packed?: Packed): Leaf["next"] => {
    const node = child(name);
    return node ? leafOf(node, group, packed).next : nothing;
  };
  const [path, size, time] = [leaf("path"), leaf("size"), leaf("modificationTime")];
  const stats = leaf("stats", group.packed);
  const partitionValues = partitionReader(field, group);
  const own = ["path", "partitionValues", "size", "modificationTime", "dataChange", "stats", ...COPIES];
  // Without tags is as good as with none.
  const isLeft = (node: Node) =>
    !own.includes(node.name) && !leavesOf(node).every((one) => isAllNull(one, group.chunks));
  const rest = structReader(field.children.filter(isLeft), group);
  // One for all rows: there may be millions.
  const add: LiveFile = { path: "", partitionValues: {}, size: 0, modificationTime: 0, dataChange: false };
  const row = { add };
  const next = (): CheckpointRow | undefined => {
    const name = path() as Slice | undefined;
    add.partitionValues = partitionValues();
    add.size = Number(size() ?? Number.NaN);
    add.modificationTime = Number(time() ?? Number.NaN);
    add.stats = stats() as Slice | PackedText | undefined;
    const extras = rest();
    if (name === undefined) return undefined;
    add.path = name;
    if (!(add.size >= 0) || Number.isNaN(add.modificationTime))
      throw new TypeError(`the add of ${plain(name)} has no size or time`);
    if (!extras) return row;
    // The commit reader knows the types of the rare fields.
    const rare = { ...add, path: plain(name), stats: null, ...extras };
    const { add: typed } = toAction({ add: rare }) as { add: LiveFile };
    return { add: { ...typed, ...add } };
  };
  return { absent: () => 0, skip: nothing, next };
}

/** Maps of text to text, as objects of their own that nobody changes; equal ones are mostly the same object. */
function partitionReader(add: Node, group: Group): () => PartitionValues {
  const none: PartitionValues = {};
  const node = add.children.find(({ name }) => name === "partitionValues");
  if (!node || kindOf(node) !== "map") return () => none;
  const [keys, values] = node.children[0]!.children.map((child) => leafOf(child, group));
  const known = new Map<string, PartitionValues>();
  let last: { names: readonly unknown[]; texts: readonly unknown[]; found: PartitionValues } = {
    names: [],
    texts: [],
    found: none,
  };
  return () => {
    const names = keys!.nextList() ?? [];
    const texts = values!.nextList() ?? [];
    // From the dictionary of a list the same text is the same object.
    if (isSame(names, last.names) && isSame(texts, last.texts)) return last.found;
    const fresh = pairs(names, texts)!;
    const key = JSON.stringify(fresh);
    const found = known.get(key) ?? fresh;
    if (known.size < MOST_KNOWN) known.set(key, found);
    last = { names: [...names], texts: [...texts], found };
    return found;
  };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

function pairs(
  keys: readonly (Value | undefined)[] | undefined,
  values: readonly (Value | undefined)[] | undefined,
): Record<string, string | null> | undefined {
  return (
    keys &&
    Object.fromEntries(keys.map((key, at) => [String(plain(key)), (plain(values?.[at]) as string) ?? null]))
  );
}

function plain(value: Value | undefined): unknown {
  return typeof value === "object" ? sliceText(value as Slice) : value;
}
