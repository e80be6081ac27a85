/** Reads Parquet checkpoints as nearly all writers make them, column by column; statistics stay packed as they stand in the file. */

import { setImmediate } from "node:timers/promises";
import type { PartitionValues } from "./actions.ts";
import { COPIES, kindOf, leavesOf, type Plan, planOf } from "./checkpoint-plan.ts";
import { CHECKPOINT_ACTIONS, type CheckpointRow, toRow } from "./checkpoint-row.ts";
import { toAction } from "./commit-file.ts";
import type { LiveFile } from "./file-rows.ts";
import { type ColumnChunk, type Footer, type Node, readFooter } from "./parquet/footer.ts";
import { type Leaf, leafReader, type Packed, type Value } from "./parquet/leaf.ts";
import { type PackedText, type Slice, sliceText } from "./slice.ts";

/** Rows handed over at once: few enough to be young when they go. */
const WINDOW = 64;

const TURN = 128 * WINDOW;

/** Partitions remembered while a file is read. */
const MOST_KNOWN = 10_000;

/** Above this size, in bytes, statistics stay packed: to unpack them would be most of the work, and most of the memory. */
const LARGE = 2 ** 20;

/** Each call gives what the next row has, without nulls; undefined where it has nothing. */
type Reader = () => unknown;

/**
 * The rows, or undefined where the file has a form that is not read here. RangeError, TypeError where it is damaged; where that shows only
 * when the statistics of a large checkpoint are asked for, what `packed` makes of it.
 */
export function readColumns(
  bytes: Uint8Array,
  packed: Packed,
  large = LARGE,
): AsyncGenerator<CheckpointRow[]> | undefined {
  const footer = readFooter(bytes);
  const pages = planOf(bytes, footer);
  return pages && readGroups(footer, pages, bytes.length > large ? packed : undefined);
}

async function* readGroups(
  { fields, rowGroups }: Footer,
  pages: Plan,
  packed: Packed | undefined,
): AsyncGenerator<CheckpointRow[]> {
  const scratches = new Map<number, Buffer>();
  for (const [at, { rows, columns }] of rowGroups.entries()) {
    for (const field of fields) {
      if (!CHECKPOINT_ACTIONS.includes(field.name)) continue;
      const group = { columns, pages: pages[at]!, packed, scratches };
      if (leavesOf(field).every((leaf) => isAllNull(leaf, columns))) continue;
      const { absent, skip, next } =
        field.name === "add" ? addReader(field, group) : actionReader(field, group);
      for (let row = 0; row < rows; ) {
        const found: CheckpointRow[] = [];
        for (const end = Math.min(rows, row + WINDOW); row < end; ) {
          const gap = absent(end - row);
          if (gap > 0) skip(gap);
          else {
            const one = next();
            if (one) found.push(one);
          }
          row += Math.max(1, gap);
        }
        if (found.length > 0) yield found;
        // Others have their turn.
        if (row % TURN === 0) await setImmediate();
      }
    }
  }
}

/** Most columns of most checkpoints. */
function isAllNull(leaf: Node, columns: readonly ColumnChunk[]): boolean {
  const { nulls, values } = columns[leaf.column!]!;
  return nulls === values;
}

type RowReader = Pick<Leaf, "absent" | "skip"> & { next(): CheckpointRow | undefined };

type Group = {
  columns: readonly ColumnChunk[];
  pages: Plan[number];
  packed: Packed | undefined;
  /** Of the row groups before, by column. */
  scratches: Map<number, Buffer>;
  note?: (leaf: Leaf) => void;
};

const nothing = () => undefined;
const NULLS: Leaf = {
  scratch: undefined,
  absent: (most) => most,
  skip: nothing,
  next: nothing,
  nextList: nothing,
};

function leafOf(node: Node, { columns, pages, scratches, note }: Group, packed?: Packed): Leaf {
  if (isAllNull(node, columns) && node.repeated === 0) return NULLS;
  const leaf = leafReader(node, pages.get(node.column!)!, { packed, scratch: scratches.get(node.column!) });
  if (leaf.scratch) scratches.set(node.column!, leaf.scratch);
  note?.(leaf);
  return leaf;
}

/** One row or a few are of most actions: what lies between is passed over. */
function actionReader(field: Node, group: Group): RowReader {
  const leaves: Leaf[] = [];
  const read = structReader(field.children, { ...group, note: (leaf) => leaves.push(leaf) });
  return {
    absent: (most) => leaves.reduce((gap, leaf) => (gap === 0 ? 0 : leaf.absent(gap)), most),
    skip(rows) {
      for (const leaf of leaves) leaf.skip(rows);
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
  const readers = fields.map((field) => [field.name, readerOf(field, group)] as const);
  return () => {
    let body: Record<string, unknown> | undefined;
    for (const [name, read] of readers) {
      const value = read();
      if (value === undefined) continue;
      body ??= {};
      body[name] = value;
    }
    return body;
  };
}

/** Adds are most of a checkpoint. */
function addReader(field: Node, group: Group): RowReader {
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
  const rest = structReader(
    field.children.filter(({ name }) => !own.includes(name)),
    group,
  );
  const next = (): CheckpointRow | undefined => {
    const name = path();
    const add: LiveFile = {
      path: plain(name) as string,
      partitionValues: partitionValues(),
      size: Number(size() ?? Number.NaN),
      modificationTime: Number(time() ?? Number.NaN),
      dataChange: false,
    };
    const text = stats() as Slice | PackedText | undefined;
    if (text) add.stats = "block" in text ? text : sliceText(text);
    const extras = rest();
    if (name === undefined) return undefined;
    if (!(add.size >= 0) || Number.isNaN(add.modificationTime))
      throw new TypeError(`the add of ${add.path} has no size or time`);
    if (!extras) return { add };
    // The commit reader knows the types of the rare fields.
    const { add: typed } = toAction({ add: { ...add, stats: null, ...extras } }) as { add: LiveFile };
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
    // From a dictionary the same text is the same object.
    if (isSame(names, last.names) && isSame(texts, last.texts)) return last.found;
    const fresh = pairs(names, texts)!;
    const key = JSON.stringify(fresh);
    const found = known.get(key) ?? fresh;
    if (known.size < MOST_KNOWN) known.set(key, found);
    last = { names, texts, found };
    return found;
  };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
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
