// Which hotlens program is started. Nothing here imports vscode: the unit tests run it in plain Node.
//
// Order: HOTLENS_SERVER (for people who work on Hotlens), the setting, the environment of the chosen Python, PATH. A place the user named
// must work: when it does not, that is the error, and no other place is tried. The others are tried in turn; what is found there wins over
// the program that the extension carries where it is newer.
import { execFile, type ExecFileException } from 'node:child_process';
import { besidePython, expandHome, isInside, onPath, type Found } from './python';

export interface ServerSources {
  readonly carried: string; // the extension's own program; the file is there in platform packages only
  readonly setting: string;
  readonly python: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folders: readonly string[];
  readonly trusted: boolean;
  readonly windows: boolean;
}

export interface Server extends Found {
  readonly version: string;
}

export interface NoServer {
  readonly message: string; // the sentence the user reads
  readonly tried: readonly string[];
}

// The version that the program at `file` reports, or why it is not Hotlens.
export type Probe = (file: string) => Promise<{ version: string } | { problem: string }>;

const INSTALL = 'Install the Hotlens wheel into the environment that has your torch, or set hotlens.server.path.';

export function serverCandidates(from: ServerSources): { named: Found | undefined; others: Found[] } {
  const override = from.environment['HOTLENS_SERVER'];
  if (override) return { named: { path: override, origin: 'HOTLENS_SERVER' }, others: [] };
  if (from.setting !== '') {
    return { named: { path: expandHome(from.setting, from.environment), origin: 'setting hotlens.server.path' }, others: [] };
  }
  const others: Found[] = [];
  if (from.python !== undefined) others.push({ path: besidePython(from.python, 'hotlens', from.windows), origin: 'Python environment' });
  others.push(...onPath(from.windows ? 'hotlens.exe' : 'hotlens', from.environment));
  const allowed = from.trusted ? others : others.filter((each) => !from.folders.some((folder) => isInside(each.path, folder)));
  return { named: undefined, others: allowed };
}

export async function findServer(from: ServerSources, probe: Probe): Promise<Server | NoServer> {
  const { named, others } = serverCandidates(from);
  if (named !== undefined) {
    const answer = await probe(named.path);
    if ('version' in answer) return { ...named, version: answer.version };
    const message = `Hotlens cannot start ${named.path} (${named.origin}): ${answer.problem}. Correct it or clear it.`;
    return { message, tried: [named.path] };
  }
  const tried: string[] = [];
  const works = async (candidates: readonly Found[]): Promise<Server | undefined> => {
    for (const candidate of candidates) {
      const answer = await probe(candidate.path);
      if ('version' in answer) return { ...candidate, version: answer.version };
      tried.push(`${candidate.path} (${candidate.origin}): ${answer.problem}`);
    }
    return undefined;
  };
  const [installed, carried] = [await works(others), await works([{ path: from.carried, origin: 'carried by the extension' }])];
  if (installed !== undefined && (carried === undefined || isNewer(installed.version, carried.version))) return installed;
  return carried ?? { message: `The hotlens program was not found. ${INSTALL}`, tried };
}

// Whether version `a` is newer than `b`: number by number; what follows the numbers (-rc1) comes before the version itself.
export function isNewer(a: string, b: string): boolean {
  const parts = (version: string): [number[], string] => {
    const [, numbers = '', rest = ''] = /^([\d.]*)(.*)$/.exec(version) ?? [];
    return [numbers.split('.').map(Number), rest];
  };
  const [[left, leftRest], [right, rightRest]] = [parts(a), parts(b)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return leftRest === '' ? rightRest !== '' : rightRest !== '' && leftRest > rightRest;
}

export function isServer(found: Server | NoServer): found is Server {
  return 'version' in found;
}

// Long enough for a cold start from a network file system, short enough that a program which waits for input is given up.
const PROBE_TIMEOUT_MS = 5000;

export const probeByVersion: Probe = (file) =>
  new Promise((resolve) => {
    execFile(file, ['--version'], { timeout: PROBE_TIMEOUT_MS, windowsHide: true }, (error, stdout) => {
      const version = readVersion(stdout);
      if (error === null) resolve(version === undefined ? { problem: 'it is another program' } : { version });
      else resolve({ problem: problemOf(error) });
    });
  });

export function readVersion(output: string): string | undefined {
  return /^hotlens\s+v?(\d+\.\d+\S*)/m.exec(output)?.[1];
}

function problemOf(error: ExecFileException): string {
  if (error.code === 'ENOENT') return 'there is no such file';
  if (error.code === 'EACCES') return 'it is not executable';
  if (error.killed) return `it did not answer in ${PROBE_TIMEOUT_MS / 1000} s`;
  return `it failed (${String(error.code ?? error.message)})`;
}
