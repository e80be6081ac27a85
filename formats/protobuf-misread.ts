/** Why the bytes of a message are not what its schema says; thrown while reading, and caught by who began to. */
export class Misread extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
