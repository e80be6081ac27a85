/** The Pythons that run blocks of the tutorials: with deltalake, with DuckDB and its delta extension, with Spark. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { interpreter, python, runReferee } from "./python.ts";
import { sparkCommand } from "./spark.ts";
import type { Python } from "./tutorial.ts";

type Pythons = Partial<Record<Python, (script: string) => Promise<string>>>;

const duckdbPackages = fileURLToPath(new URL("../../bench/duckdb-delta.txt", import.meta.url));
const sparkScripts = fileURLToPath(new URL("../referees/spark/", import.meta.url));

/** What `LOAD delta` is where the extension comes as a package. */
const DUCKDB = `
import glob, duckdb, duckdb_ext
[extension] = [p for root in duckdb_ext.__path__ for p in glob.glob(f"{root}/extensions/*/*/delta.duckdb_extension")]
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
`;

/** Each runs in `cwd`. Spark is slow to fetch and to start: only its own suite asks for it. */
export function tutorialPythons(cwd: string): Pythons {
  const there = `import os\nos.chdir(${JSON.stringify(cwd)})\n`;
  return {
    python: (script) => python(`${there}${script}`),
    "python duckdb": async (script) =>
      runReferee(await interpreter(duckdbPackages), ["-c", `${there}${DUCKDB}${script}`]),
  };
}

/** With a session as the pyspark shell has it, called `spark`. */
export function sparkPython(cwd: string): Pythons {
  return {
    "python spark": async (script) => {
      const folder = await mkdtemp(join(tmpdir(), "tutorial-spark-"));
      try {
        const file = join(folder, "block.py");
        const session = `import os, sys\nsys.path.insert(0, ${JSON.stringify(sparkScripts)})\nos.chdir(${JSON.stringify(cwd)})\nfrom session import open_session\nspark = open_session()\n`;
        await writeFile(file, `${session}${script}\nspark.stop()\n`);
        const { command, args, env } = await sparkCommand(file, []);
        return await runReferee(command, [file, ...args.slice(1)], env);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}
