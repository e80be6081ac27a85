/** What a user types to start the same lab once more. */

const PLAIN = /^[\w@%+=:,./-]+$/;

/** `words` are those that stood after the command: with others it would be another lab. */
export function startAgain(words: readonly string[], env: NodeJS.ProcessEnv): string {
  const typed = words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  if (env.npm_lifecycle_event !== "start") return ["lab", "up", ...typed].join(" ");
  return ["npm", "start", ...(typed.length > 0 ? ["--"] : []), ...typed].join(" ");
}
