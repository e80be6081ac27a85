import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasHeader, readHeaders, writeHeaders } from "./record-headers.ts";

const headers = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom("", "lab", "lab-seq", "lab-audit"), fc.string({ unit: "grapheme" })),
    fc.option(fc.uint8Array(), { nil: null }),
  ),
);

test("headers come back as they were, and one is found by its whole name alone", () => {
  fc.assert(
    fc.property(headers, fc.uint8Array(), (list, before) => {
      const written = writeHeaders(list);
      const bytes = Buffer.concat([before, written, before]);
      const [start, end] = [before.length, before.length + written.length];
      const read = readHeaders(bytes, start, end);
      assert.deepEqual(
        read.map(([name, value]) => [name, value && Uint8Array.from(value)]),
        list.map(([name, value]) => [name, value && Uint8Array.from(value)]),
      );
      for (const name of ["lab-audit", "lab", ""])
        assert.equal(
          hasHeader(bytes, start, end, Buffer.from(name)),
          list.some(([one]) => one === name),
        );
    }),
  );
});
