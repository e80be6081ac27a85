/** Bounds of columns that were read from the statistics of files, kept for the next who asks of the same column. */

/** What the rows of a file must reach into for it to matter. */
export type BoundsFilter = {
  /** Names the column, and how its bounds become numbers. */
  key: string;
  /** Outer bounds of the file's values, by its statistics; NaN where nothing is known. */
  boundsOf(stats: string | undefined): { min: number; max: number };
  /** Inclusive. */
  low: number;
  high: number;
};

export type FileBounds = {
  /** Those of `candidates` in which a row of the file may lie in what is asked for; `statsOf` is asked once a row. `rows` there are in all. */
  reaching(
    filter: BoundsFilter,
    candidates: Uint32Array,
    rows: number,
    statsOf: (row: number) => string | undefined,
  ): Uint32Array;
};

/** Columns that are kept, with sixteen bytes a row each. */
const MOST_COLUMNS = 4;

/** In the place of a lower bound: nobody looked. */
const UNSEEN = Number.POSITIVE_INFINITY;

export function fileBounds(): FileBounds {
  const columns = new Map<string, Float64Array>();

  const columnFor = (key: string, rows: number): Float64Array => {
    const known = columns.get(key);
    columns.delete(key);
    const [oldest] = columns.keys();
    if (oldest !== undefined && columns.size === MOST_COLUMNS) columns.delete(oldest);
    let column = known ?? new Float64Array(0);
    if (column.length < 2 * rows) {
      column = new Float64Array(2 * Math.max(rows, known === undefined ? 0 : column.length)).fill(UNSEEN);
      if (known) column.set(known);
    }
    columns.set(key, column);
    return column;
  };

  return {
    reaching({ key, boundsOf, low, high }, candidates, rows, statsOf) {
      const column = columnFor(key, rows);
      const look = (row: number) => {
        const { min, max } = boundsOf(statsOf(row));
        // Infinite bounds are as good as none, and so are those the wrong way around.
        const isKnown = min <= max && Number.isFinite(min);
        column[2 * row] = isKnown ? min : Number.NaN;
        column[2 * row + 1] = isKnown ? max : Number.NaN;
      };
      const isIn = (row: number) => !(column[2 * row + 1]! < low || column[2 * row]! > high);
      let count = 0;
      for (let at = 0; at < candidates.length; at++) {
        const row = candidates[at]!;
        if (column[2 * row] === UNSEEN) look(row);
        if (isIn(row)) count++;
      }
      const chosen = new Uint32Array(count);
      for (let at = 0, to = 0; to < count; at++) if (isIn(candidates[at]!)) chosen[to++] = candidates[at]!;
      return chosen;
    },
  };
}
