/** What the shells are told to complete, made from the declarations of the commands. Pure. */

import type { Setting } from "../core/settings.ts";
import { COMMON, type Command } from "./command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

type Flag = { flag: string; description: string; takesValue: boolean; words: readonly string[] };
type Completed = {
  name: string;
  summary: string;
  flags: readonly Flag[];
  /** For each argument in turn the words it may be, which its name lists in small letters; null stands for a table. */
  args: readonly (readonly string[] | null)[];
};

/** The script for one shell: sourced, it completes commands, flags, their words, and tables of a store in a folder. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const all = commands.filter(({ isInternal }) => !isInternal).map(completed);
  all.push({
    name: "help",
    summary: "Tell how a command is used",
    flags: [],
    args: [all.map(({ name }) => name)],
  });
  return { bash, zsh, fish }[shell](all);
}

function completed({ name, summary, settings, args }: Command): Completed {
  return {
    ...{ name, summary },
    flags: [...Object.values(settings), ...Object.values(COMMON)].map(flagOf),
    args: args.map(({ name }) =>
      name === "TABLE" ? null : /^[a-z|]*\|[a-z|]*$/.test(name) ? name.split("|") : [],
    ),
  };
}

function flagOf({ flag, description, kind }: Setting): Flag {
  return { flag, description, takesValue: kind.placeholder !== "", words: kind.words ?? [] };
}

/** In bash and zsh: the tables of `$LAB_STORE`, or of the lab in this folder. */
const TABLES = `_lab_tables() {
  local log
  for log in "\${LAB_STORE:-./lab-data/tables}"/*/_delta_log; do
    [ -d "$log" ] && log="\${log%/_delta_log}" && printf '%s\\n' "\${log##*/}"
  done
}`;

/** Words of a position, or how the shell finds them. */
const wordsOf = (arg: readonly string[] | null) => (arg === null ? "$(_lab_tables)" : arg.join(" "));

/** Cases that bash and zsh share: the words after a flag, and else those at a place; \`place\` is 1 for the first argument. */
function cases(all: readonly Completed[]): { flags: string; values: string; places: string; takers: string } {
  const line = (pattern: string, words: string) => `    ${pattern}) words="${words}" ;;`;
  const values = all.flatMap(({ name, flags }) =>
    flags
      .filter(({ words }) => words.length > 0)
      .map(({ flag, words }) => line(`"${name} ${flag}"`, words.join(" "))),
  );
  const places = all.flatMap(({ name, args }) =>
    args.flatMap((arg, n) => (arg?.length === 0 ? [] : [line(`"${name} ${n + 1}"`, wordsOf(arg))])),
  );
  const takers = new Set(
    all.flatMap(({ flags }) => flags.filter((one) => one.takesValue).map(({ flag }) => flag)),
  );
  return {
    flags: all.map(({ name, flags }) => line(name, flags.map(({ flag }) => flag).join(" "))).join("\n"),
    values: values.join("\n"),
    places: places.join("\n"),
    takers: [...takers].join("|"),
  };
}

/** Decides in \`words\` what may stand at the cursor; \`before\` are the whole words before it, \`current\` is the begun one. */
function decide(all: readonly Completed[]): string {
  const { flags, values, places, takers } = cases(all);
  return `${TABLES}

# Sets words to what may stand after the given words; isOpen is 1 where a file or a text of one's own may, too.
_lab_words() {
  local current="$1" command="$2" last="" place=1 word
  words="" isOpen=0
  shift
  if [ $# -eq 0 ]; then words="${all.map(({ name }) => name).join(" ")}"; return; fi
  shift
  for word in "$@"; do
    case "$last" in
      ${takers}) last="" ; continue ;;
    esac
    last="$word"
    case "$word" in
      -*) ;;
      *) place=$((place + 1)) ;;
    esac
  done
  case "$last" in
    ${takers})
      case "$command $last" in
${values.replace(/^ {4}/gm, "        ")}
        *) isOpen=1 ;;
      esac
      return ;;
  esac
  case "$current" in
    -*)
      case "$command" in
${flags.replace(/^ {4}/gm, "        ")}
      esac
      return ;;
  esac
  case "$command $place" in
${places}
    *) isOpen=1 ;;
  esac
}`;
}

function bash(all: readonly Completed[]): string {
  return `# Completion of lab for bash: source <(lab completion bash)
${decide(all)}

_lab() {
  local words isOpen current="\${COMP_WORDS[COMP_CWORD]}"
  _lab_words "$current" "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _lab lab
`;
}

function zsh(all: readonly Completed[]): string {
  return `#compdef lab
# Completion of lab for zsh: source <(lab completion zsh), after compinit
${decide(all)}

_lab() {
  local words_before current="\${words[CURRENT]}"
  words_before=("\${(@)words[2,CURRENT-1]}")
  () {
    local words isOpen
    _lab_words "$current" "\${words_before[@]}"
    if [ "$isOpen" = 1 ]; then _files; else compadd -- \${=words}; fi
  }
}
compdef _lab lab
`;
}

function fish(all: readonly Completed[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = all.flatMap(({ name, summary, flags, args }) => {
    const within = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c lab -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
      ...flags.map(({ flag, description, takesValue, words }) => {
        const value = words.length > 0 ? ` -x -a ${quoted(words.join(" "))}` : takesValue ? " -r" : "";
        return `complete -c lab ${within} -l ${flag.slice(2)}${value} -d ${quoted(description)}`;
      }),
      ...args.flatMap((arg) =>
        arg?.length === 0
          ? []
          : [`complete -c lab ${within} -f -a ${arg === null ? "'(__lab_tables)'" : quoted(arg.join(" "))}`],
      ),
    ];
  });
  return `# Completion of lab for fish: lab completion fish | source
function __lab_tables
  set -l store ./lab-data/tables
  set -q LAB_STORE; and set store $LAB_STORE
  for log in $store/*/_delta_log
    basename (dirname $log)
  end
end
${lines.join("\n")}
`;
}
