// The workspace of a scenario: a copy of the example, with a profile recorded once at the same path (profiles hold absolute paths).
//
//   node workspace.mjs record HOTLENS EXAMPLE WORKSPACE KEEP        records, keeps the profile in KEEP
//   node workspace.mjs prepare ID EXAMPLE WORKSPACE KEEP            makes the workspace of a scenario
//   node workspace.mjs ids EDITOR                                   the scenarios of this editor
//   node workspace.mjs needs-server ID                              true or false
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const RUN_MS = 300000;
const TABLE = path.join(path.dirname(fileURLToPath(import.meta.url)), 'scenarios.json');

const { scenarios, settings, actions } = JSON.parse(fs.readFileSync(TABLE, 'utf8'));

export function settingsOf(scenario) {
  return { ...settings, ...scenario.settings };
}

// What the person has done up to a step.
export function actionsBefore(steps, index) {
  return steps.slice(0, index).reduce((sum, [name]) => {
    if (actions[name] === undefined) throw new Error(`how many actions is ${name}?`);
    return sum + actions[name];
  }, 0);
}

export function scenariosOf(editor) {
  const here = scenarios.filter((each) => (each.editors ?? [editor]).includes(editor));
  return here.map((each) => ({ ...each, steps: [...each.steps, ...(each[editor] ?? [])] }));
}

export function recordProfile(hotlens, example, workspace, keep) {
  copyExample(example, workspace);
  const python = process.env.HOTLENS_TEST_PYTHON;
  const args = ['run', ...(python ? ['--python', python] : []), 'train.py'];
  const run = spawnSync(hotlens, args, { cwd: workspace, encoding: 'utf8', timeout: RUN_MS });
  const profiles = path.join(workspace, '.hotlens');
  if (run.status !== 0 || !fs.existsSync(profiles)) throw new Error(`hotlens run failed (${run.status ?? run.error}): ${run.stderr}`);
  fs.cpSync(profiles, keep, { recursive: true });
}

export function prepareWorkspace(scenario, example, workspace, keep) {
  copyExample(example, workspace);
  if (scenario.profiled !== false) fs.cpSync(keep, path.join(workspace, '.hotlens'), { recursive: true });
  if (scenario.predicted !== undefined) writePredictions(scenario.predicted, path.join(workspace, '.hotlens'));
  for (const [file, [old, replacement]] of Object.entries(scenario.change ?? {})) {
    const place = path.join(workspace, file);
    const text = fs.readFileSync(place, 'utf8');
    if (!text.includes(old)) throw new Error(`${file} does not contain ${old}`);
    fs.writeFileSync(place, text.replace(old, replacement));
  }
  for (const [file, text] of Object.entries(scenario.write ?? {})) {
    const place = path.join(workspace, file);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
  }
}

// A second folder, and the file that opens both; undefined: there is none.
export function prepareFolders(scenario, workspace) {
  if (scenario.beside === undefined) return undefined;
  const { folder, write } = scenario.beside;
  const beside = path.join(path.dirname(workspace), folder);
  fs.rmSync(beside, { recursive: true, force: true });
  fs.mkdirSync(beside, { recursive: true });
  for (const [file, text] of Object.entries(write)) fs.writeFileSync(path.join(beside, file), text);
  const both = path.join(path.dirname(workspace), 'both.code-workspace');
  fs.writeFileSync(both, JSON.stringify({ folders: [{ path: path.basename(workspace) }, { path: folder }] }));
  return both;
}

// As `hotlens whatif` keeps them (annotator/advice/FORMAT.md).
function writePredictions(predicted, folder) {
  const [profile] = fs.readdirSync(path.join(folder, 'profiles')).filter((name) => /^\d/.test(name));
  const common = { schema: 'hotlens.ledger/1', event: 'predicted', time: '2026-11-24T10:00:00Z', profile, torch: '2', method: 'replay' };
  const rows = Object.entries(predicted).map(([kind, [ratio, low, high]]) => JSON.stringify({ ...common, kind, ratio, low, high }));
  fs.writeFileSync(path.join(folder, 'ledger.jsonl'), `${rows.join('\n')}\n`);
}

function copyExample(example, workspace) {
  fs.rmSync(workspace, { recursive: true, force: true });
  fs.cpSync(example, workspace, { recursive: true, filter: (file) => !/[/\\](\.hotlens|__pycache__)$/.test(file) });
}

function scenarioOf(id) {
  const found = scenarios.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no scenario ${id}`);
  return found;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [verb, ...args] = process.argv.slice(2);
  const verbs = {
    record: () => recordProfile(...args),
    prepare: () => prepareWorkspace(scenarioOf(args[0]), ...args.slice(1)),
    ids: () =>
      console.log(
        scenariosOf(args[0])
          .map((each) => each.id)
          .join(' '),
      ),
    'needs-server': () => console.log(scenarioOf(args[0]).server !== false),
  };
  if (verbs[verb] === undefined) throw new Error(`unknown verb ${verb}`);
  verbs[verb]();
}
