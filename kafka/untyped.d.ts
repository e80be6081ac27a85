/** The parts we use of packages that ship no types. */

declare module "snappyjs" {
  const snappy: { compress(input: Buffer): Buffer; uncompress(input: Buffer): Buffer };
  export default snappy;
}

declare module "lz4js" {
  const lz4: { compress(input: Uint8Array): Uint8Array; decompress(input: Uint8Array): Uint8Array };
  export default lz4;
}

declare module "kafkajs/src/consumer/batch.js" {
  import type { RawBatch } from "./fetched.ts";

  const Batch: new (topic: string, fetchedOffset: string, partitionData: unknown) => RawBatch;
  export default Batch;
}

declare module "kafkajs/src/consumer/consumerGroup.js" {
  const ConsumerGroup: { prototype: unknown };
  export default ConsumerGroup;
}

declare module "kafkajs/src/protocol/error.js" {
  export function createErrorFromCode(code: number): Error;
}

declare module "kafkajs/src/protocol/requests/produce/v7/response.js" {
  const response: { decode(bytes: Buffer): Promise<unknown> };
  export default response;
}
