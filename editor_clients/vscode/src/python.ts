// Which Python runs the training script, and where it was found. Nothing here imports vscode: the unit tests run it in plain Node.
//
// Order: the setting, the interpreter chosen in the Python extension, VIRTUAL_ENV, a .venv or venv folder of the workspace, python3 on
// PATH. An interpreter inside a workspace that is not trusted is never taken: running it would run the workspace's code.
import * as path from 'node:path';

export interface Found {
  readonly path: string;
  readonly origin: string; // how it was found, for the log
}

export interface PythonSources {
  readonly setting: string;
  readonly chosen: string | undefined; // by the user in the Python extension
  readonly known?: readonly string[]; // all that the Python extension knows
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folders: readonly string[];
  readonly trusted: boolean;
  readonly windows: boolean;
}

export type IsExecutable = (file: string) => boolean;

export function pythonCandidates(from: PythonSources): Found[] {
  const candidates: Found[] = [];
  if (from.setting !== '') candidates.push({ path: expandHome(from.setting, from.environment), origin: 'setting hotlens.python' });
  if (from.chosen !== undefined) candidates.push({ path: from.chosen, origin: 'Python extension' });
  const active = from.environment['VIRTUAL_ENV'];
  if (active) candidates.push({ path: pythonOf(active, from.windows), origin: 'VIRTUAL_ENV' });
  for (const folder of from.folders) {
    for (const name of ['.venv', 'venv']) {
      candidates.push({ path: pythonOf(path.join(folder, name), from.windows), origin: `${name} of the workspace` });
    }
  }
  for (const name of from.windows ? ['python.exe'] : ['python3', 'python']) candidates.push(...onPath(name, from.environment));
  return from.trusted ? candidates : candidates.filter((each) => !from.folders.some((folder) => isInside(each.path, folder)));
}

export function findPython(from: PythonSources, isExecutable: IsExecutable): Found | undefined {
  return pythonCandidates(from).find((each) => isExecutable(each.path));
}

// All that are there, each once: what can be chosen from.
export function foundPythons(from: PythonSources, isExecutable: IsExecutable): Found[] {
  const known = (from.known ?? []).map((path): Found => ({ path, origin: 'Python extension' }));
  const allowed = from.trusted ? known : known.filter((each) => !from.folders.some((folder) => isInside(each.path, folder)));
  const all = [...pythonCandidates(from), ...allowed].filter((each) => isExecutable(each.path));
  return all.filter((each, index) => all.findIndex(({ path }) => path === each.path) === index);
}

// The program `name` of the environment that `python` belongs to. The path is not resolved: a virtual environment's python is a link.
export function besidePython(python: string, name: string, windows: boolean): string {
  const folder = path.dirname(python);
  const scripts = windows && path.basename(folder).toLowerCase() !== 'scripts' ? path.join(folder, 'Scripts') : folder;
  return path.join(scripts, windows ? `${name}.exe` : name);
}

export function onPath(name: string, environment: Readonly<Record<string, string | undefined>>): Found[] {
  const folders = (environment['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => ({ path: path.join(folder, name), origin: 'PATH' }));
}

export function expandHome(file: string, environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment['HOME'] ?? environment['USERPROFILE'];
  return home !== undefined && /^~[/\\]/.test(file) ? path.join(home, file.slice(2)) : file;
}

export function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '' && relative.split(path.sep)[0] !== '..' && !path.isAbsolute(relative);
}

function pythonOf(environment: string, windows: boolean): string {
  return windows ? path.join(environment, 'Scripts', 'python.exe') : path.join(environment, 'bin', 'python');
}
