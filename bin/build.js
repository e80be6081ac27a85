// Builds the sources of a clone into JavaScript that starts fast: few files, each loaded only when it is needed.

import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildOf, buildPlace, ENTRIES, manifestText, stampOf } from "./current-build.js";

/** Packages of many small files that most commands load: together with our own code they cost a third of what they cost alone. */
const INLINED = ["@duckdb/node-api", "commander", "kafkajs", "prom-client"];

/** Beside the sources: what else a build is made from. */
const BUILDERS = ["tsconfig.json", "node_modules/.package-lock.json", "bin/build.js", "bin/current-build.js"];

const KEPT_MS = 30 * 24 * 3600 * 1000;

/**
 * Builds the clone at `root` and returns what `currentBuild` will find from now on. The files of a build are named after their content and appear
 * whole; the manifest, which says that they are the build, comes last. So builds at the same time, and one that is killed, do no harm, and
 * a process that runs an older build can still load the rest of it: files are removed only a month after they were last part of a build.
 */
export async function build(root) {
  const { folder, manifest } = buildPlace(root);
  mkdirSync(folder, { recursive: true });
  const { outputs, inputs, entries } = await bundle(root, folder);
  for (const { path, contents } of outputs) {
    if (existsSync(path)) utimesSync(path, new Date(), new Date());
    else writeWhole(path, contents);
  }
  const stamped = [...inputs, ...BUILDERS.map((path) => [path, stampOf(join(root, path))])];
  writeWhole(manifest, manifestText(root, stamped, entries));
  removeOld(folder, new Set(outputs.map(({ path }) => path)));
  return buildOf(folder, entries);
}

async function bundle(root, folder) {
  const esbuild = await import("esbuild");
  const inputs = [];
  try {
    const made = await esbuild.build({
      absWorkingDir: root,
      entryPoints: ENTRIES.map((entry) => ({ in: `${entry}.ts`, out: entry.replaceAll("/", "-") })),
      outdir: folder,
      entryNames: "[name]-[hash]",
      chunkNames: "[name]-[hash]",
      ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node20" },
      ...{ sourcemap: "linked", sourcesContent: false, keepNames: false },
      ...{ write: false, metafile: true, logLevel: "silent" },
      // Packages that are not modules ask for others by `require`.
      banner: {
        js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
      },
      plugins: [packages(), sources(folder, inputs, root)],
    });
    const entries = {};
    for (const [file, { entryPoint }] of Object.entries(made.metafile.outputs)) {
      const entry = entryPoint?.replace(/\.ts$/, "");
      if (entry !== undefined && ENTRIES.includes(entry)) entries[entry] = relative(folder, join(root, file));
    }
    return { outputs: made.outputFiles, inputs, entries };
  } finally {
    await esbuild.stop();
  }
}

/** Own sources and INLINED become part of the build; all other packages stay what they are. */
function packages() {
  return {
    name: "packages",
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
        if (kind === "entry-point") return undefined;
        const name = path.split("/", path.startsWith("@") ? 2 : 1).join("/");
        const isInlined = INLINED.includes(name) || importer.includes("/node_modules/");
        // A native library is found beside its own package.
        return isInlined && name !== "@duckdb/node-bindings" ? undefined : { path, external: true };
      });
    },
  };
}

/** A source that asks where it is gets its place in the clone, with what lies beside it, not that of the build. */
function sources(folder, inputs, root) {
  return {
    name: "sources",
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        // Before it is read: a change in between makes the build an old one.
        inputs.push([relative(root, path), stampOf(path)]);
        const place = JSON.stringify(relative(folder, path).replaceAll("\\", "/"));
        const text = readFileSync(path, "utf8");
        const contents = text.replace(/\bimport\.meta\.url\b/g, `new URL(${place}, import.meta.url).href`);
        return { contents, loader: "ts", resolveDir: dirname(path) };
      });
    },
  };
}

function writeWhole(path, contents) {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, path);
}

function removeOld(folder, current) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (current.has(path) || !/\.(js|map|tmp)$/.test(name)) continue;
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { force: true });
  }
}
