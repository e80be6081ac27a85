/** Why a value is not what its schema says; thrown while it is read, and caught around the whole message. */

import type { Undecodable } from "./decoder.ts";

export class AvroFault extends Error {
  readonly code: string;
  readonly stage: Undecodable["stage"];
  /** Names and places from the outside in; who reads what holds the value adds its own on the way out. */
  readonly path: string[] = [];

  constructor(code: string, message: string, stage: Undecodable["stage"] = "decode") {
    super(message);
    this.code = code;
    this.stage = stage;
  }

  asUndecodable(): Undecodable {
    const path = brief(this.path.join("").replace(/^\./, ""));
    return {
      stage: this.stage,
      code: this.code,
      message: path === "" ? this.message : `${path}: ${this.message}`,
    };
  }
}

/** Values may hold each other hundreds of times. */
function brief(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 100)}...${path.slice(-90)}`;
}

/** Bytes that break the rules of the encoding. */
export function malformed(message: string): AvroFault {
  return new AvroFault("MALFORMED_AVRO", message);
}

/** A value that Avro can say and the column cannot hold. */
export function outOfRange(message: string): AvroFault {
  return new AvroFault("OUT_OF_RANGE", message, "schema");
}
