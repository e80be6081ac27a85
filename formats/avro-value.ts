/** One message's value, once its schema is known. */

import { AvroFault, malformed } from "./avro-fault.ts";
import { createAvroInput } from "./avro-input.ts";
import { createJsonOutput } from "./avro-output.ts";
import type { AvroPlan } from "./avro-plan.ts";
import type { Decoded } from "./decoder.ts";

/** Decodes the value that begins at `from`; never throws for any bytes. One of them keeps one buffer for all its messages. */
export type DecodeValue = (value: Uint8Array, from: number, plan: AvroPlan) => Decoded;

export function createDecodeValue(): DecodeValue {
  const input = createAvroInput();
  const output = createJsonOutput();
  return (value, from, plan) => {
    input.reset(value, from);
    output.reset();
    try {
      plan.read(input, output);
      if (input.left() > 0) throw malformed(`${input.left()} bytes follow the value`);
      return { objects: [output.take()] };
    } catch (error) {
      if (!(error instanceof AvroFault)) throw error;
      return { bad: error.asUndecodable() };
    }
  };
}
