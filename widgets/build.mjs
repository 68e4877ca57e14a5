// Builds the scripts of shops' pages into the Python package, where they are committed.
//
//   node build.mjs            writes them into the package
//   node build.mjs --out DIR  writes them elsewhere, for the test that compares
//   node build.mjs --tests    bundles the unit tests into .built/
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, createBrotliCompress } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = join(HERE, "../src/productrecs/assets/widgets");
const DASHBOARD = join(HERE, "../src/productrecs/dashboard/static");
// Scripts of the dashboard's pages: src/dashboard/NAME.ts, but for main.ts, which all load.
const ISLANDS = {
  appearance: "appearance", dashboard: "main", looks: "looks",
  "widget-preview": "widget-preview",
};
const WIDGETS = ["recs", "search", "look", "all", "tools", "webmcp", "crop"];

// Styles stand in files of their own and travel as text without needless blanks.
const styles = {
  name: "styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await (await import("esbuild")).transform(
        await readFile(path, "utf8"), { loader: "css", minify: true, target: "chrome111" });
      return { contents: code.trim().replace(/([,:]) /g, "$1"), loader: "text" };
    });
  },
};

const common = {
  absWorkingDir: HERE,
  bundle: true,
  charset: "utf8",
  legalComments: "none",
  plugins: [styles],
  target: "es2021",
};

// The service calls the outermost function with what it knows of the store. The second
// tool puts what is used once where it is used, which is another thirtieth.
async function script(out, name) {
  const { outputFiles: [bundled] } = await build({
    ...common,
    entryPoints: [`src/${name}/main.ts`],
    format: "esm",
    minify: true,
    mangleProps: /_$/,
    write: false,
  });
  const { code } = await minify(bundled.text, {
    compress: { passes: 3, pure_getters: true, unsafe: true, unsafe_arrows: true, hoist_funs: true }, ecma: 2021, module: true,
  });
  await writeFile(join(out, `${name}.js`), `(STORE=>{${code}})(null);\n`);
}

// The script up to its last call, compressed as well as it can be; the service adds the call.
async function compressed(out, name) {
  const built = (await readFile(join(out, `${name}.js`), "utf8")).trimEnd();
  const packer = createBrotliCompress({ params: {
    [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 16,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  } });
  const parts = [];
  packer.on("data", (part) => parts.push(part));
  packer.write(built.slice(0, -"(null);".length));
  // Not its end, but whole bytes: what follows is a block of its own.
  await new Promise((done) => packer.flush(constants.BROTLI_OPERATION_FLUSH, done));
  await writeFile(join(out, `${name}.js.br`), Buffer.concat(parts));
}

async function tests() {
  const found = (await readdir(join(HERE, "test"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: found.map((name) => `test/${name}`),
    outdir: ".built",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    define: { STORE: "null" },
  });
}

const [what, where] = process.argv.slice(2);
if (what === "--tests") {
  await tests();
} else {
  const isElsewhere = what === "--out" && where;
  const out = isElsewhere ? where : PACKAGE;
  const pages = isElsewhere ? join(where, "dashboard") : DASHBOARD;
  await build({
    ...common,
    entryPoints: Object.fromEntries(
      Object.entries(ISLANDS).map(([name, source]) => [name, `src/dashboard/${source}.ts`])),
    outdir: pages,
    format: "iife",
    minify: true,
  });
  await Promise.all(WIDGETS.map(async (name) => {
    await script(out, name);
    await compressed(out, name);
  }));
}
