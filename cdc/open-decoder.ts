/** The decoder of a stream's changes. */

import { LabError } from "../core/errors.ts";
import { createDebeziumDecoder } from "./debezium.ts";
import type { ChangeDecoder } from "./decoder.ts";
import { createDmsDecoder } from "./dms.ts";
import { createDynamoDbDecoder } from "./dynamodb.ts";
import { createMaxwellDecoder } from "./maxwell.ts";
import type { CdcOptions } from "./options.ts";
import { createPlainDecoder } from "./plain.ts";
import { withTimeColumns } from "./time-columns.ts";

/** CONFIG_INVALID where nothing tells the key and the format does not either. */
export function openChangeDecoder(options: CdcOptions): ChangeDecoder {
  return withTimeColumns(formatDecoder(options), options.timeColumns ?? new Map());
}

function formatDecoder(options: CdcOptions): ChangeDecoder {
  const { format, keyColumns } = options;
  if (format === "debezium") return createDebeziumDecoder(options);
  if (format === "dynamodb") return createDynamoDbDecoder(keyColumns ?? null);
  if (!keyColumns)
    throw new LabError("CONFIG_INVALID", `changes of format ${format} do not say what their key is`, {
      hint: "name the columns: --cdc-key id, or `cdc: { key: [id] }`",
    });
  if (format === "dms") return createDmsDecoder(keyColumns);
  if (format === "maxwell") return createMaxwellDecoder(keyColumns);
  return createPlainDecoder(options.plain ?? {}, keyColumns);
}
