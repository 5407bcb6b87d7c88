// node run.mjs CODE_SERVER EXTENSION.vsix BIN_DIR EXAMPLE_DIR [SHOTS] [ID…]
// Runs the scenarios in the real VS Code (code-server in Chromium). HOTLENS_TEST_PYTHON is the Python with torch.
// THEME is a colour theme of VS Code, for the pictures.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { installExtension, startEditor } from "./code_server.mjs";
import { makeSteps } from "./steps.mjs";
import { prepareWorkspace, recordProfile, scenariosOf, settingsOf } from "../workspace.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const [program, vsix, binDir, example, shots, ...ids] = process.argv.slice(2);
const python = process.env.HOTLENS_TEST_PYTHON;
const wanted = scenariosOf("vscode").filter((each) => ids.length === 0 || ids.includes(each.id));

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hotlens-vscode-"));
const workspace = path.join(folder, "work \u00fc", "digits"); // paths with a space and a letter outside ASCII must work
const profiles = path.join(folder, "profiles");
if (shots) fs.mkdirSync(shots, { recursive: true });

// The editor inherits this environment, and the server the editor's: no Hotlens or Python of the developer's shell.
function environment(withServer) {
  const { HOTLENS_SERVER: _server, VIRTUAL_ENV: _venv, ...rest } = process.env;
  // VSCODE_CLI: keep this PATH instead of asking a login shell for its own.
  return { ...rest, VSCODE_CLI: "1", PATH: withServer ? `${binDir}${path.delimiter}${process.env.PATH}` : process.env.PATH };
}

// { hints: { minPercent: 1 } } → { "hotlens.hints.minPercent": 1 }
function flatten(settings, prefix = "hotlens") {
  return Object.assign({}, ...Object.entries(settings).map(([key, value]) =>
    typeof value === "object" && !Array.isArray(value) ? flatten(value, `${prefix}.${key}`) : { [`${prefix}.${key}`]: value }));
}

// The program that was built now, also where the Python environment holds an installed one.
const server = (scenario) => (scenario.server === false ? {} : { "hotlens.server.path": path.join(binDir, "hotlens") });

async function play(scenario, steps) {
  for (const [index, [name, ...args]] of scenario.steps.entries()) {
    try {
      const after = await steps[name](...args);
      if (typeof after === "function") await shootAndGo(scenario, index, after);
    } catch (error) {
      throw new Error(`step ${index + 1} ${name}: ${String(error.message).split("\n").slice(0, 14).join("\n      ")}`);
    }
  }
}

let page;
async function shoot(name) {
  if (shots) await page.screenshot({ path: path.join(shots, `vscode-${name}.png`) }).catch(() => {});
}

// What is open only for a moment (a hover) is photographed before it goes.
async function shootAndGo(scenario, index, go) {
  await shoot(`${scenario.id}-${index + 1}`);
  await go();
}

async function runScenario(scenario) {
  prepareWorkspace(scenario, example, workspace, profiles);
  const editor = await startEditor({
    program, folder, environment: environment(scenario.server !== false), trusted: scenario.trusted !== false,
    user: { ...flatten(settingsOf(scenario)), ...(process.env.THEME ? { "workbench.colorTheme": process.env.THEME } : {}) },
    machine: { ...(python ? { "hotlens.python": python } : {}), ...server(scenario) }, viewport: { width: 1300, height: 1900 },
  });
  page = editor.page;
  try {
    await play(scenario, makeSteps({ ...editor, workspace, workspacePids: path.join(here, "..", "workspace_pids.sh") }));
  } finally {
    await shoot(scenario.id);
    await editor.close();
  }
}

let passed = 0;
let failed = 0;
installExtension(program, folder, vsix);
recordProfile(path.join(binDir, "hotlens"), example, workspace, profiles);
for (const scenario of wanted) {
  const begun = Date.now();
  let failure;
  try {
    await runScenario(scenario);
    passed++;
  } catch (error) {
    failure = error;
    failed++;
  }
  const took = ((Date.now() - begun) / 1000).toFixed(1);
  console.log(`${failure ? "FAIL" : "ok  "}  vscode  ${scenario.id}: ${scenario.title} (${took} s)`);
  if (failure) console.log(`      ${failure.message}`);
}
if (failed === 0) fs.rmSync(folder, { recursive: true, force: true });
else console.log(`the editor's logs are kept in ${folder}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
