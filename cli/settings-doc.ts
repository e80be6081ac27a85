/** `docs/settings.md`: every command and setting as a table, made from their declarations. */

import { defaultOf, type Setting, usageOf } from "../core/settings.ts";
import { COMMON, type Command } from "./command.ts";

const INTRO = `# Settings

Made from the declarations in \`cli/\` and \`core/settings.ts\`: \`npm test -- settings-doc\` fails with the new text when it is not current.

A flag stands over its variable, the variable over \`./lab.yaml\`, that over the default.
`;

export function settingsDoc(commands: readonly Command[]): string {
  const sections = commands
    .filter((command) => !command.isInternal)
    .map(
      (command) => `## lab ${command.name}\n\n${command.summary}.\n${table(Object.values(command.settings))}`,
    );
  return [INTRO, ...sections, `## On every command\n${table(Object.values(COMMON))}`].join("\n");
}

function yamlKeys({ yaml, streamKey }: Setting): string {
  const shared = /^(flush|upkeep)\b/.test(streamKey ?? "") ? `defaults.${streamKey}` : undefined;
  const keys = [yaml, shared, streamKey && `streams[].${streamKey}`].filter(Boolean);
  return keys.map((key) => `\`${key}\``).join(", ");
}

function table(settings: readonly Setting[]): string {
  if (settings.length === 0) return "";
  const rows = settings.map((one) => {
    const cells = [`\`${usageOf(one)}\``, `\`${one.env}\``, yamlKeys(one), defaultOf(one), one.description];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return `\n| flag | variable | lab.yaml | default | is |\n|---|---|---|---|---|\n${rows.join("\n")}\n`;
}
