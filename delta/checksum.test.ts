import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonChecksum } from "./checksum.ts";

test("the checksum is the protocol's own example's", () => {
  const text =
    `{"k0":"'v 0'", "checksum":"adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], ` +
    `{"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}`;
  assert.equal(jsonChecksum(text), "6a92d155a59bf2eecbd4b4ec7fd1f875");
});

test("layout and order do not matter; values and how numbers are spelled do", () => {
  const sum = jsonChecksum('{"a":1,"b":null,"c":true}');
  assert.equal(jsonChecksum('{ "c": true, "b": null,\n "a": 1 }'), sum);
  for (const other of ['{"a":1.0,"b":null,"c":true}', '{"a":"1","b":null,"c":true}', '{"a":1,"b":null}'])
    assert.notEqual(jsonChecksum(other), sum);
});
