/** The decoder of a stream's changes. */

import { createDebeziumDecoder } from "./debezium.ts";
import type { ChangeDecoder } from "./decoder.ts";
import type { CdcOptions } from "./options.ts";

export function openChangeDecoder(options: CdcOptions): ChangeDecoder {
  return createDebeziumDecoder(options);
}
