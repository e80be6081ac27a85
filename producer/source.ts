/** Where messages come from: generators, which are pure, and files. */

export type Message = {
  key: string | Buffer | null;
  value: string | Buffer | null;
  /** Sent beside those of ours. */
  headers?: Readonly<Record<string, string>>;
  /** Its line in the file, from 1, where it is one. */
  line?: number;
};

export type MessageSource = {
  name: string;
  /** SOURCE_UNREADABLE before anything is made for it; absent where there is nothing to check. */
  check?(): Promise<void>;
  /** Messages from the `from`-th on. A file always begins at 0: what it holds is sent whole. Ends, or throws, once the signal aborts. */
  messages(from: number, signal: AbortSignal): AsyncIterable<Message> | Iterable<Message>;
  /** True for a generator without end, which goes on where the topic stands. */
  isEndless: boolean;
  /** How many messages there are, where that is known before they are read. */
  total?: number;
  /** A pause after every so many messages, where no rate is asked for. */
  pace?: { every: number; pauseMs: number };
};
