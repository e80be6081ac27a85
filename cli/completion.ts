/** `lab completion`: what a shell needs to complete commands, flags and tables. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { nearNames } from "../query/near-names.ts";
import { defineCommand } from "./command.ts";
import { completionScript, SHELLS } from "./completion-scripts.ts";

export const completion = defineCommand({
  name: "completion",
  summary: "Print what makes a shell complete commands, flags and tables",
  args: [{ name: SHELLS.join("|"), description: "the shell", required: true }],
  examples: [
    "source <(lab completion bash)              in ~/.bashrc; zsh the same in ~/.zshrc, after compinit",
    "lab completion fish > ~/.config/fish/completions/lab.fish",
    'alias lab="node $PWD/bin/lab.js"; source <(lab completion bash)    in a clone',
  ],
  settings: {},
  seeAlso: ["doctor"],
  async run({ screen, common, commands }, _values, [asked = ""]) {
    const shell = SHELLS.find((one) => one === asked);
    if (shell === undefined) {
      const near = nearNames(asked, SHELLS);
      throw new LabError("USAGE", `no completion for ${asked}`, {
        hint:
          near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there is one for ${SHELLS.join(", ")}`,
      });
    }
    const script = completionScript(shell, await commands());
    screen.out(common.json ? `${toJson({ shell, script }, 2)}\n` : script);
    return 0;
  },
});
