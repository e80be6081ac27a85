/** A schema registry that holds what a test gives it, and values in its wire format. */

import type { RegisteredSchema, Registry } from "../../formats/registry.ts";

type Given = Pick<RegisteredSchema, "type" | "text"> & Partial<Pick<RegisteredSchema, "references">>;

export type FixedRegistry = Registry & {
  /** The ids that were asked for, each time. */
  readonly asked: number[];
  add(id: number, schema: Given): void;
};

/** Ids count from 1. */
export function fixedRegistry(schemas: readonly Given[]): FixedRegistry {
  const known = new Map<number, RegisteredSchema>();
  const asked: number[] = [];
  const add = (id: number, schema: Given) => {
    known.set(id, { references: [], ...schema, id });
  };
  for (const [i, schema] of schemas.entries()) add(i + 1, schema);
  return {
    url: "memory:",
    asked,
    add,
    async byId(id) {
      asked.push(id);
      return known.get(id) ?? null;
    },
    latest: () => Promise.reject(new Error("a decoder of messages goes by their ids")),
  };
}

/** A zero, the schema's id, and the pieces after it. */
export function framed(id: number, ...pieces: (Uint8Array | readonly number[])[]): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, ...pieces.map((piece) => Uint8Array.from(piece))]);
}
