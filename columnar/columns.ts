/**
 * The inner loops of this folder, in WebAssembly: `assembly/` has their sources, `npm run build:wasm` makes `columns.wasm` of them. Addresses are
 * places in its memory, which moves when it grows: a view of it is good until the next call that may add something.
 */

import { readFileSync } from "node:fs";

/** A leaf, a node or a chunk in the module's memory. */
export type Address = number;

/** As `assembly/index.ts` has them, where they are described. */
type Exports = {
  memory: { readonly buffer: ArrayBuffer };
  inputFor(bytes: number): Address;
  newLeaf(physical: number, maxDefinition: number, maxRepetition: number): Address;
  beginLeaf(leaf: Address, entries: number): void;
  releaseLeaf(leaf: Address): void;
  freeLeaf(leaf: Address): void;
  addNull(leaf: Address, repetition: number, definition: number): void;
  addBoolean(leaf: Address, repetition: number, value: number): void;
  addInt32(leaf: Address, repetition: number, value: number): void;
  addInt64(leaf: Address, repetition: number, value: bigint): void;
  addFloat(leaf: Address, repetition: number, value: number): void;
  addDouble(leaf: Address, repetition: number, value: number): void;
  addFixed(leaf: Address, repetition: number, high: bigint, low: bigint): void;
  addBytes(leaf: Address, repetition: number, from: Address, length: number): void;
  textFor(leaf: Address, length: number): Address;
  addText(leaf: Address, repetition: number, length: number): void;
  addRows(leaf: Address, from: Address, count: number): void;
  addMillis(leaf: Address, from: Address, count: number): void;
  addSpans(
    leaf: Address,
    bytes: Address,
    ends: Address,
    flags: Address,
    nullFlag: number,
    count: number,
  ): void;
  addNulls(leaf: Address, definition: number, count: number): void;
  repeatBytes(leaf: Address, from: Address, length: number, count: number): void;
  entriesOf(leaf: Address): number;
  countOf(leaf: Address): number;
  definitionsOf(leaf: Address): Address;
  valuesOf(leaf: Address): Address;
  textOf(leaf: Address): Address;
  newNode(
    kind: number,
    isNullable: number,
    nullLevel: number,
    repetition: number,
    digits: number,
    scale: number,
    flag: number,
    leaf: Address,
  ): Address;
  freeNode(node: Address): void;
  addField(struct: Address, name: Address, length: number, node: Address): void;
  setElement(node: Address, element: Address): void;
  beginWalk(node: Address, ignoreUnknown: number): void;
  appendMessages(bytes: Address, base: number, ends: Address, count: number): number;
  indexRows(leaf: Address, rows: number): void;
  pickRows(leaf: Address, into: Address, rows: Address, count: number): void;
  restart(leaf: Address): void;
  buildChunk(leaf: Address, rows: number, pageRows: number): Address;
  leastOf(leaf: Address, places: Address, count: number): number;
  largestOf(leaf: Address, places: Address, count: number): number;
};

/** The numbers by which the module knows what a node is. */
type Kinds = Record<
  | "STRING"
  | "INTEGER"
  | "REAL"
  | "DECIMAL"
  | "TRUTH"
  | "TIMESTAMP"
  | "DATE"
  | "STRUCT"
  | "ARRAY"
  | "MAP"
  | "NEVER",
  { readonly value: number }
>;

export type Columns = Exports & { readonly kinds: Kinds };

/** What is used of the standard's namespace, which the types of Node do not have. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: unknown };
  RuntimeError: new (message: string) => Error;
};

let compiled: object | undefined;

/** Whether the module stopped within a function, as it does without memory: what it did so far is half done, and it is not to be used again. */
export const isTrap = (error: unknown): boolean => error instanceof WebAssembly.RuntimeError;

/** A memory of its own, with the functions that work in it. */
export function openColumns(): Columns {
  compiled ??= new WebAssembly.Module(readFileSync(new URL("./columns.wasm", import.meta.url)));
  const { exports } = new WebAssembly.Instance(compiled, {
    env: {
      abort() {
        throw new WebAssembly.RuntimeError(
          "a function of columns.wasm ran out of memory, or was asked for what there is not",
        );
      },
    },
    numbers: {
      parseNumber: (at: Address, length: number) =>
        Number(Buffer.from(memory.buffer, at, length).toString("latin1")),
    },
  });
  const { memory } = exports as Exports;
  return { ...(exports as Exports), kinds: exports as Kinds };
}
