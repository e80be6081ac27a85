/** A place in the bytes of a JSON message, and steps over the parts that every value is made of. */

export const TAB = 9;
export const NEWLINE = 10;
export const RETURN = 13;
export const SPACE = 32;
export const QUOTE = 34;
export const PLUS = 43;
export const COMMA = 44;
export const MINUS = 45;
export const POINT = 46;
export const ZERO = 48;
export const NINE = 57;
export const COLON = 58;
export const CAPITAL_T = 84;
export const CAPITAL_Z = 90;
export const OPEN_BRACKET = 91;
export const BACKSLASH = 92;
export const CLOSE_BRACKET = 93;
export const LETTER_A = 97;
export const LETTER_E = 101;
export const LETTER_F = 102;
export const LETTER_N = 110;
export const LETTER_T = 116;
export const LETTER_U = 117;
export const OPEN_BRACE = 123;
export const CLOSE_BRACE = 125;

export const TRUE: Uint8Array = Buffer.from("true");
export const FALSE: Uint8Array = Buffer.from("false");
export const NULL: Uint8Array = Buffer.from("null");

/** Each byte of a word of four. */
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const QUOTES = QUOTE * ONES;
const BACKSLASHES = BACKSLASH * ONES;
const SPACES = SPACE * ONES;
const SIMPLE_ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/**
 * Expects valid UTF-8 with a newline behind the message, which no step goes beyond. Steps answer false where what they look for does not stand
 * there; where the cursor is then says nothing.
 */
export class JsonCursor {
  bytes: Uint8Array = new Uint8Array();
  at = 0;
  end = 0;
  /** The bytes, to read four at a time. */
  words: DataView = new DataView(new ArrayBuffer(0));
  /** Where four bytes can be read for the last time. */
  #lastWord = 0;
  /** Escapes met so far, in all strings. */
  escapes = 0;

  /** Over the messages of `bytes`. */
  open(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#lastWord = bytes.length - 4;
  }

  /** At the message from `start` to `end`. */
  begin(start: number, end: number): void {
    // As small integers: a position that came as a double would stay one, and each step would allocate.
    this.at = start | 0;
    this.end = end | 0;
  }

  skipSpace(): void {
    const { bytes, end } = this;
    let { at } = this;
    while (at < end) {
      const byte = bytes[at]!;
      if (byte > SPACE || (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB)) break;
      at++;
    }
    this.at = at;
  }

  /** Over `byte` and the space around it. */
  eat(byte: number): boolean {
    const { bytes } = this;
    if (bytes[this.at] !== byte) {
      this.skipSpace();
      if (bytes[this.at] !== byte || this.at >= this.end) return false;
    }
    this.at++;
    if (bytes[this.at]! <= SPACE) this.skipSpace();
    return true;
  }

  /** As `eat`, but leaves the space behind it, which belongs to what is around. */
  eatLast(byte: number): boolean {
    if (this.bytes[this.at] !== byte) this.skipSpace();
    return this.at < this.end && this.bytes[this.at++] === byte;
  }

  word(word: Uint8Array): boolean {
    const { bytes, at } = this;
    for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
    this.at = at + word.length;
    return true;
  }

  /** Over a string, from its opening to behind its closing quote. */
  text(): boolean {
    const { bytes, words } = this;
    const lastWord = this.#lastWord;
    let i = this.at + 1;
    for (;;) {
      let stops = 0;
      for (; i <= lastWord; i += 4) {
        stops = stopsIn(words.getInt32(i, true));
        if (stops !== 0) break;
      }
      if (stops !== 0) i += (31 - Math.clz32(stops & -stops)) >> 3;
      else while (bytes[i] !== QUOTE && bytes[i] !== BACKSLASH && bytes[i]! >= SPACE) i++;
      if (bytes[i] === QUOTE) break;
      this.at = i;
      if (bytes[i] !== BACKSLASH || !this.#escape()) return false;
      i = this.at + 1;
    }
    this.at = i + 1;
    return true;
  }

  /**
   * Copies the string whose first character stands at `start` to `to`, from `out` on, and up to three bytes more, and answers where its closing quote
   * stands; -1 for a string with an escape, one that is none, and one at the very end of the bytes.
   */
  copyText(start: number, to: DataView, out: number): number {
    const { words } = this;
    const lastWord = this.#lastWord;
    for (let i = start, at = out; i <= lastWord; i += 4, at += 4) {
      const word = words.getInt32(i, true);
      to.setInt32(at, word, true);
      const stops = stopsIn(word);
      if (stops === 0) continue;
      const stop = (31 - Math.clz32(stops & -stops)) & 24;
      return ((word >>> stop) & 255) === QUOTE ? i + (stop >> 3) : -1;
    }
    return -1;
  }

  /** To the last byte of an escape; of a pair of surrogates to the last of both. */
  #escape(): boolean {
    this.escapes++;
    const kind = this.bytes[++this.at]!;
    if (kind !== LETTER_U) return SIMPLE_ESCAPES[kind] === 1;
    const unit = hex4(this.bytes, this.at + 1);
    this.at += 4;
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return false;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    if (this.bytes[this.at + 1] !== BACKSLASH || this.bytes[this.at + 2] !== LETTER_U) return false;
    const low = hex4(this.bytes, this.at + 3);
    this.at += 6;
    return low >= 0xdc00 && low <= 0xdfff;
  }
}

/**
 * The bytes of a word at which a string ends, escapes, or is none: the quote, the backslash, control characters. The lowest bit that is set is the
 * highest of the first such byte; 0 where there is none. ("Bit Twiddling Hacks", Determine if a word has a zero byte, and a byte less than n.)
 */
function stopsIn(word: number): number {
  const quote = word ^ QUOTES;
  const backslash = word ^ BACKSLASHES;
  return (
    (((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) | ((word - SPACES) & ~word)) & HIGH_BITS
  );
}

/** Four hexadecimal digits as a number; negative where there are others. */
export function hex4(bytes: Uint8Array, at: number): number {
  let unit = 0;
  for (let i = at; i < at + 4; i++) {
    const byte = bytes[i]!;
    const lower = byte | 32;
    if (byte >= ZERO && byte <= NINE) unit = unit * 16 + byte - ZERO;
    else if (lower >= LETTER_A && lower <= LETTER_F) unit = unit * 16 + lower - LETTER_A + 10;
    else return -1;
  }
  return unit;
}
