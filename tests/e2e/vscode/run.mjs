// node run.mjs CODE_SERVER EXTENSION.vsix BIN_DIR EXAMPLE_DIR [SHOTS] [ID…]
// Runs the scenarios in the real VS Code (code-server in Chromium). HOTLENS_TEST_PYTHON is the Python with torch.
// CARRIED=1: no program on PATH, the extension brings its own (BIN_DIR only records what is shown).
// Three at a time, each at a desk of its own: its folder, its code-server, its browser. THEME is a colour theme of VS Code, for the pictures.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { installExtension, startEditor } from './code_server.mjs';
import { makeSteps } from './steps.mjs';
import { triedTwice } from '../second_try.mjs';
import { actionsBefore, prepareFolders, prepareWorkspace, recordProfile, scenariosOf, settingsOf } from '../workspace.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const [program, vsix, binDir, example, shots, ...ids] = process.argv.slice(2);
const python = process.env.HOTLENS_TEST_PYTHON;
const DESKS = 3;
// A program that is installed beside this Python would be found before the one that is tested.
const besidePython = python !== undefined && fs.existsSync(path.join(path.dirname(python), 'hotlens'));
const waiting = scenariosOf('vscode').filter((each) => ids.length === 0 || ids.includes(each.id));

// The editor inherits this environment, and the server the editor's: no Hotlens or Python of the developer's shell.
function environment(withServer) {
  const { HOTLENS_SERVER: _server, VIRTUAL_ENV: _venv, ...rest } = process.env;
  withServer &&= process.env.CARRIED !== '1';
  // VSCODE_CLI: keep this PATH instead of asking a login shell for its own.
  return { ...rest, VSCODE_CLI: '1', PATH: withServer ? `${binDir}${path.delimiter}${process.env.PATH}` : process.env.PATH };
}

// { hints: { minPercent: 1 } } → { "hotlens.hints.minPercent": 1 }
function flatten(settings, prefix = 'hotlens') {
  return Object.assign(
    {},
    ...Object.entries(settings).map(([key, value]) =>
      typeof value === 'object' && !Array.isArray(value) ? flatten(value, `${prefix}.${key}`) : { [`${prefix}.${key}`]: value },
    ),
  );
}

async function shoot(page, name) {
  if (shots) await page.screenshot({ path: path.join(shots, `vscode-${name}.png`) }).catch(() => {});
}

function actedAtMost(most, acted) {
  if (acted > most) throw new Error(`${acted} actions`);
}

async function play(scenario, page, steps) {
  for (const [index, [name, ...args]] of scenario.steps.entries()) {
    try {
      if (name === 'actions_at_most') {
        actedAtMost(args[0], actionsBefore(scenario.steps, index));
        continue;
      }
      const after = await steps[name](...args);
      if (typeof after !== 'function') continue;
      await shoot(page, `${scenario.id}-${index + 1}`); // what is open only for a moment (a hover), before it goes
      await after();
    } catch (error) {
      throw new Error(`step ${index + 1} ${name}: ${String(error.message).split('\n').slice(0, 14).join('\n      ')}`);
    }
  }
}

function setUpDesk() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-vscode-'));
  const workspace = path.join(folder, 'work \u00fc', 'digits'); // paths with a space and a letter outside ASCII must work
  const profiles = path.join(folder, 'profiles');
  installExtension(program, folder, vsix);
  recordProfile(path.join(binDir, 'hotlens'), example, workspace, profiles);
  return { folder, workspace, profiles };
}

async function runScenario(scenario, { folder, workspace, profiles }) {
  prepareWorkspace(scenario, example, workspace, profiles);
  const folders = prepareFolders(scenario, workspace);
  const editor = await startEditor({
    program,
    folder,
    folders,
    environment: environment(scenario.server !== false),
    trusted: scenario.trusted !== false,
    user: { ...flatten(settingsOf(scenario)), ...(process.env.THEME ? { 'workbench.colorTheme': process.env.THEME } : {}) },
    machine: {
      ...(python ? { 'hotlens.python': python } : {}),
      ...(besidePython && scenario.server !== false && process.env.CARRIED !== '1'
        ? { 'hotlens.server.path': path.join(binDir, 'hotlens') }
        : {}),
    },
    viewport: { width: 1300, height: 1900 },
  });
  try {
    await play(scenario, editor.page, makeSteps({ ...editor, workspace, workspacePids: path.join(here, '..', 'workspace_pids.sh') }));
  } finally {
    await shoot(editor.page, scenario.id);
    await editor.close();
  }
}

// Scenarios one after the other until none waits. Returns [passed, failed].
async function workAt(desk) {
  const count = [0, 0];
  for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
    const begun = Date.now();
    const play = () =>
      runScenario(scenario, desk).then(
        () => undefined,
        (error) => error,
      );
    const failure = await triedTwice(`vscode  ${scenario.id}`, play, count[1]);
    count[failure ? 1 : 0]++;
    const took = ((Date.now() - begun) / 1000).toFixed(1);
    console.log(`${failure ? 'FAIL' : 'ok  '}  vscode  ${scenario.id}: ${scenario.title} (${took} s)`);
    if (failure) console.log(`      ${failure.message}`);
  }
  if (count[1] === 0) fs.rmSync(desk.folder, { recursive: true, force: true });
  else console.log(`the editor's logs are kept in ${desk.folder}`);
  return count;
}

if (shots) fs.mkdirSync(shots, { recursive: true });
const desks = Array.from({ length: Math.min(DESKS, waiting.length) }, setUpDesk);
const counts = await Promise.all(desks.map(workAt));
const [passed, failed] = [0, 1].map((index) => counts.reduce((sum, count) => sum + count[index], 0));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
