/** Many small waits at once, but not too many. */

/** Maps with at most `width` under way. After a failure nothing new is begun, and what runs has ended before it is thrown. */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await work(items[index]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, worker));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return results;
}
