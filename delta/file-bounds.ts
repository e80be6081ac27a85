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
  /** Whether a row of the file may lie in what is asked for; `statsOf` is asked once a row. `rows` there are. */
  reaching(
    filter: BoundsFilter,
    rows: number,
    statsOf: (row: number) => string | undefined,
  ): (row: number) => boolean;
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
    reaching({ key, boundsOf, low, high }, rows, statsOf) {
      const column = columnFor(key, rows);
      return (row) => {
        const at = 2 * row;
        if (column[at] === UNSEEN) {
          const { min, max } = boundsOf(statsOf(row));
          // Infinite bounds are as good as none, and so are those the wrong way around.
          const isKnown = min <= max && Number.isFinite(min);
          column[at] = isKnown ? min : Number.NaN;
          column[at + 1] = isKnown ? max : Number.NaN;
        }
        return !(column[at + 1]! < low || column[at]! > high);
      };
    },
  };
}
