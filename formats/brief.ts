/** What is said of a value, for a letter: not longer than somebody reads, and text whatever the value held. */

const MOST_UNITS = 500;

/** `message`, cut where it is long; halves of surrogate pairs, which names in JSON may hold and a cut may leave, become U+FFFD. */
export function brief(message: string): string {
  const cut = message.length > MOST_UNITS ? `${message.slice(0, MOST_UNITS)}...` : message;
  return cut.replace(/\p{Surrogate}/gu, "\ufffd");
}
