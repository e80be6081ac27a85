/** The parts we use of packages that ship no types. */

declare module "snappyjs" {
  const snappy: { compress(input: Buffer): Buffer; uncompress(input: Buffer): Buffer };
  export default snappy;
}

declare module "lz4js" {
  const lz4: { compress(input: Uint8Array): Uint8Array; decompress(input: Uint8Array): Uint8Array };
  export default lz4;
}

declare module "kafkajs/src/consumer/consumerGroup.js" {
  const ConsumerGroup: { prototype: unknown };
  export default ConsumerGroup;
}

declare module "kafkajs/src/network/requestQueue/index.js" {
  type Answer = { correlationId: number; payload: Buffer | null; size: number };
  type Pushed = { entry: object; expectResponse: boolean; sendRequest(): void };
  class RequestQueue {
    constructor(options: object);
    push(request: Pushed): void;
    fulfillRequest(answer: Answer): void;
    maybeThrottle(ms: number): void;
    destroy(): void;
    readonly throttledUntil: number;
    readonly throttleCheckTimeoutId: NodeJS.Timeout | null;
  }
  export default RequestQueue;
}

declare module "kafkajs/src/protocol/error.js" {
  export function createErrorFromCode(code: number): Error;
}

declare module "kafkajs/src/protocol/requests/produce/v7/response.js" {
  const response: { decode(bytes: Buffer): Promise<unknown> };
  export default response;
}

declare module "kafkajs/src/protocol/decoder.js" {
  const Decoder: new (bytes: Buffer) => object;
  export default Decoder;
}

declare module "kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js" {
  type Message = { offset: string; key: Buffer | null; value: Buffer | null };
  const decodeMessages: (decoder: object) => Promise<Message[]>;
  export default decodeMessages;
}

declare module "kafkajs/src/protocol/requests/index.js" {
  type Encode = { request: { encode(): Promise<{ buffer: Buffer }> } };
  type Api = { protocol(of: { version: number }): (request: object) => Encode };
  export const requests: { Fetch: Api; Metadata: Api };
}
