import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { requests } from "kafkajs/src/protocol/requests/index.js";
import { isLabError } from "../../core/errors.ts";
import { decodeFetch, encodeFetch, type FetchRequest } from "./fetch-api.ts";
import { decodeMetadata, encodeMetadata } from "./metadata-api.ts";
import { createWriter } from "./wire.ts";

const id = "0123456789abcdef0123456789abcdef";
const request: FetchRequest = {
  maxWaitMs: 250,
  maxBytes: 1 << 22,
  topics: [
    {
      name: "größe",
      id,
      partitions: Array.from({ length: 130 }, (_, partition) => ({
        partition,
        fetchOffset: 2n ** 60n + BigInt(partition),
        maxBytes: 77,
      })),
    },
    {
      name: "other",
      id: id.toUpperCase().toLowerCase(),
      partitions: [{ partition: 5, fetchOffset: 0n, maxBytes: 1 }],
    },
  ],
};

test("requests up to version 11 are byte for byte what kafkajs sends", async () => {
  for (let version = 4; version <= 11; version++) {
    const theirs = requests.Fetch.protocol({ version })({
      replicaId: -1,
      maxWaitTime: request.maxWaitMs,
      minBytes: 1,
      maxBytes: request.maxBytes,
      isolationLevel: 1,
      topics: request.topics.map(({ name, partitions }) => ({
        topic: name,
        partitions: partitions.map(({ fetchOffset, ...one }) => ({
          ...one,
          fetchOffset: String(fetchOffset),
        })),
      })),
    });
    assert.deepEqual(
      encodeFetch(version, request),
      (await theirs.request.encode()).buffer,
      `version ${version}`,
    );
  }
  const metadata = requests.Metadata.protocol({ version: 4 })({
    topics: ["a", "b"],
    allowAutoTopicCreation: false,
  });
  assert.deepEqual(encodeMetadata(4, ["a", "b"]), (await metadata.request.encode()).buffer);
});

test("version 13 names topics by their ids, in the flexible form", () => {
  const topics = [{ name: "t", id, partitions: [{ partition: 1, fetchOffset: 2n, maxBytes: 3 }] }];
  const expected =
    `00 ffffffff 000000fa 00000001 00400000 01 00000000 ffffffff 02 ${id} 02 00000001 ffffffff 0000000000000002 ` +
    "ffffffff ffffffffffffffff 00000003 00 00 01 01 00";
  assert.equal(encodeFetch(13, { ...request, topics }).toString("hex"), expected.replaceAll(" ", ""));
});

type Written = { topic: string; partition: number; code: number; records: Uint8Array; preferred: number };

/** An answer by the letter of the protocol, with tagged fields that nobody knows. */
function answerBytes(version: number, parts: readonly Written[]): Buffer {
  const isFlexible = version >= 12;
  const out = createWriter(isFlexible);
  const end = () => {
    if (!isFlexible) return;
    // One field, number 9, of two bytes.
    for (const byte of [1, 9, 2, 5, 5]) out.int8(byte);
  };
  end();
  out.int32(11);
  if (version >= 7) {
    out.int16(0);
    out.int32(0);
  }
  out.list(parts, ({ topic, partition, code, records, preferred }) => {
    if (version >= 13) out.uuid(topic === "t" ? id : "f".repeat(32));
    else out.string(topic);
    out.list([partition], () => {
      out.int32(partition);
      out.int16(code);
      out.int64(100n);
      out.int64(99n);
      if (version >= 5) out.int64(3n);
      out.list([7n, 8n], (producerId) => {
        out.int64(producerId);
        out.int64(producerId + 1n);
        end();
      });
      if (version >= 11) out.int32(preferred);
      // Bytes are written as a list of bytes is.
      out.list([...records], (byte) => out.int8((byte << 24) >> 24));
      end();
    });
    end();
  });
  end();
  return out.bytes();
}

test("answers of all versions are read, tagged fields that nobody knows passed over", () => {
  const written = fc.record({
    topic: fc.constant("t"),
    partition: fc.nat(),
    code: fc.integer({ min: -1, max: 110 }),
    records: fc.uint8Array({ maxLength: 300 }),
    preferred: fc.integer({ min: -1, max: 4 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 13 }), fc.array(written, { maxLength: 4 }), (version, parts) => {
      const topics = [{ name: "t", id, partitions: [] }];
      const answer = decodeFetch(version, answerBytes(version, parts), topics);
      assert.deepEqual([answer.throttleMs, answer.errorCode], [11, 0]);
      assert.deepEqual(
        answer.partitions,
        parts.map(({ topic, partition, code, records, preferred }) => ({
          topic,
          partition,
          errorCode: code,
          lastStableOffset: 99n,
          aborted: [7n, 8n].map((producerId) => ({ producerId, firstOffset: producerId + 1n })),
          preferredNode: version >= 11 && preferred >= 0 ? preferred : null,
          records: Buffer.from(records),
        })),
      );
    }),
  );
});

test("an answer that ends too early is refused by name, wherever it ends", () => {
  for (const version of [4, 11, 13]) {
    const whole = answerBytes(version, [
      { topic: "t", partition: 0, code: 0, records: Buffer.alloc(9), preferred: -1 },
    ]);
    for (let kept = 0; kept < whole.length; kept++)
      assert.throws(
        () => decodeFetch(version, whole.subarray(0, kept), [{ name: "t", id, partitions: [] }]),
        (error) => isLabError(error, "KAFKA_PROTOCOL"),
      );
  }
});

test("leaders and ids are read of both versions of metadata", () => {
  for (const version of [4, 12] as const) {
    const isFlexible = version === 12;
    const out = createWriter(isFlexible);
    out.end();
    out.int32(5);
    out.list([1, 2], (node) => {
      out.int32(node);
      out.string("host");
      out.int32(9092);
      out.string(null);
      out.end();
    });
    out.string("cluster");
    out.int32(1);
    out.list([0, 3], (code) => {
      out.int16(code);
      out.string(`t${code}`);
      if (isFlexible) out.uuid(id);
      out.int8(0);
      out.list(code === 0 ? [4, -1] : [], (leader) => {
        out.int16(leader < 0 ? 5 : 0);
        out.int32(leader < 0 ? 8 : 7);
        out.int32(leader);
        if (isFlexible) out.int32(2);
        for (let n = isFlexible ? 3 : 2; n > 0; n--) out.list([1, 2, 3], out.int32);
        out.end();
      });
      if (isFlexible) out.int32(-1);
      out.end();
    });
    out.end();
    const known = isFlexible ? id : null;
    assert.deepEqual(decodeMetadata(version, out.bytes()), {
      throttleMs: 5,
      topics: [
        {
          name: "t0",
          id: known,
          errorCode: 0,
          leaders: new Map([
            [7, 4],
            [8, -1],
          ]),
        },
        { name: "t3", id: known, errorCode: 3, leaders: new Map() },
      ],
    });
  }
});
