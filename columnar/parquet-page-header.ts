/** What stands before each page of a Parquet file (parquet-format, `PageHeader`). */

import type { ByteSink } from "./parquet-bytes.ts";
import { ENCODING } from "./parquet-encoding.ts";
import { putStruct } from "./parquet-thrift.ts";

export const DATA_PAGE = 0;
export const DICTIONARY_PAGE = 2;

export type PageHeader = {
  kind: "dictionary" | "data";
  /** Entries: values, nulls and empty lists. */
  entries: number;
  /** Of a data page; dictionaries are plain. */
  encoding: number;
  /** Bytes of the page without its header, before compression. */
  rawSize: number;
  /** And as they stand in the file. */
  size: number;
};

export function putPageHeader(file: ByteSink, page: PageHeader): void {
  const isData = page.kind === "data";
  const i32 = (value: number) => ({ i32: value });
  const encoding = i32(isData ? page.encoding : ENCODING.plain);
  const levels = i32(ENCODING.rle);
  putStruct(file, [
    [1, i32(isData ? DATA_PAGE : DICTIONARY_PAGE)],
    [2, i32(page.rawSize)],
    [3, i32(page.size)],
    isData
      ? [
          5,
          {
            struct: [
              [1, i32(page.entries)],
              [2, encoding],
              [3, levels],
              [4, levels],
            ],
          },
        ]
      : [
          7,
          {
            struct: [
              [1, i32(page.entries)],
              [2, encoding],
            ],
          },
        ],
  ]);
}
