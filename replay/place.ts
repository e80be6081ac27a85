/** Where a row stands in its Kafka partition, and how far a reader has come in each. */

/** A row's place: topics that were made anew count up `generation`, and `index` tells the rows of one message apart. */
export type Place = { generation: number; offset: bigint; index: number };

/** The last place that was handed on, by partition; one that is absent has not begun. */
export type Progress = ReadonlyMap<number, Place>;

/** Whole messages up to `offset` are behind this place. */
export const LAST_INDEX = 2 ** 31 - 1;

/** Negative where `a` stands before `b`. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.generation !== b.generation) return a.generation - b.generation;
  if (a.offset !== b.offset) return a.offset < b.offset ? -1 : 1;
  return a.index - b.index;
}

/** The place right before a message: whoever stands there reads it next. */
export function before(generation: number, offset: bigint): Place {
  return { generation, offset: offset - 1n, index: LAST_INDEX };
}

/** Behind all places there are: nothing of the partition is read. */
export const END: Place = { generation: LAST_INDEX, offset: 2n ** 63n - 1n, index: LAST_INDEX };

type PlaceJson = [partition: number, generation: number, offset: string, index: number];

/** Progress as JSON can hold it: longs as text, by partition. */
export function progressToJson(progress: Progress): PlaceJson[] {
  return [...progress]
    .sort(([a], [b]) => a - b)
    .map(([partition, { generation, offset, index }]) => [partition, generation, String(offset), index]);
}

/** The other way; throws a SyntaxError or TypeError for what was not written by `progressToJson`. */
export function progressFromJson(json: unknown): Map<number, Place> {
  return new Map(
    (json as PlaceJson[]).map(([partition, generation, offset, index]) => [
      partition,
      { generation, offset: BigInt(offset), index },
    ]),
  );
}
