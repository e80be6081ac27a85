/** Where a command writes: data on stdout, all else on stderr, colour only where someone looks. */

import pc from "picocolors";

type Colors = ReturnType<typeof pc.createColors>;

export type Screen = {
  /** Data, as it is: add the newline yourself. */
  out(text: string): void;
  /** As `out`, text or bytes, for much of it: resolves once the reader has taken it. */
  write(piece: string | Uint8Array): Promise<void>;
  /** A line for people, on stderr. */
  note(line: string): void;
  /** One line on stderr that replaces the one drawn before; an empty one takes it away. Only where `isNoteLive`. */
  draw(line: string): void;
  /** A text of the lab's own with its commands as the user can type them; what `note` writes is so already. */
  typed(text: string): string;
  /** True where a person looks at it now: a terminal, not CI, not TERM=dumb. */
  isOutLive: boolean;
  isNoteLive: boolean;
  /** A program of the lab started this one with LAB_PROGRESS=json: progress comes as lines of JSON on stderr, for it to show. */
  isProgressJson: boolean;
  /** Width of the terminal in cells, at least 40; 80 where it is unknown. */
  columns(): number;
  rows(): number;
  outColors: Colors;
  noteColors: Colors;
};

type Stream = Pick<NodeJS.WriteStream, "write"> &
  Partial<Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows">>;

/** The screen of a process. `noColor` is the flag; NO_COLOR and FORCE_COLOR are heeded too. */
export function createScreen(options: {
  stdout: Stream;
  stderr: Stream;
  env: NodeJS.ProcessEnv;
  noColor: boolean;
  /** See `asTyped`; default: texts stay as they are. */
  typed?: (text: string) => string;
}): Screen {
  const { stdout, stderr, env, noColor, typed = (text) => text } = options;
  const isPlain = env.TERM === "dumb" || Boolean(env.CI);
  const colors = (stream: Stream) => {
    const isForced = Boolean(env.FORCE_COLOR) && env.FORCE_COLOR !== "0";
    const isOff = noColor || Boolean(env.NO_COLOR);
    return pc.createColors(!isOff && (isForced || (stream.isTTY === true && !isPlain)));
  };
  return {
    out: (text) => void stdout.write(text),
    write: (piece) => new Promise((resolve) => void stdout.write(piece, () => resolve())),
    note: (line) => void stderr.write(`${typed(line)}\n`),
    typed,
    draw: (line) => void stderr.write(`\r\u001b[2K${line}`),
    isOutLive: stdout.isTTY === true && !isPlain,
    isNoteLive: stderr.isTTY === true && !isPlain,
    isProgressJson: env.LAB_PROGRESS === "json",
    columns: () => Math.max(40, stdout.columns || stderr.columns || 80),
    rows: () => stdout.rows || stderr.rows || 24,
    outColors: colors(stdout),
    noteColors: colors(stderr),
  };
}
