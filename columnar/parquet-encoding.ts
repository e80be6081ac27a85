/** How values lie in the pages of a column, by the numbers of `parquet.thrift`. */
export const ENCODING = { plain: 0, rle: 3, delta: 5, deltaLength: 6, dictionary: 8 } as const;
