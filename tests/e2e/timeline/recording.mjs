// Bundles that a scenario records itself, from the examples as they are or from a script of its own.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

// A compiled worker is kept between runs of the tests.
const CACHE = fileURLToPath(new URL('../../../build/cache', import.meta.url));

// The program in a folder, with the python of the tests: `verb` comes before it, `words` after.
export function run(world, folder, verb, words) {
  const python = process.env.HOTLENS_TEST_PYTHON;
  const all = [...verb, ...(python === undefined ? [] : ['--python', path.resolve(python)]), ...words];
  const options = { cwd: folder, env: { ...process.env, XDG_CACHE_HOME: CACHE } };
  return new Promise((resolve, reject) => {
    execFile(world.hotlens, all, options, (error, _out, complaint) => (error === null ? resolve() : reject(new Error(complaint))));
  });
}

// Gone when the scenario ends.
export function ownFolder(world, name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `hotlens-${name}-`));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// The folder's first bundle.
export function bundleIn(folder) {
  const profiles = path.join(folder, '.hotlens', 'profiles');
  return path.join(profiles, fs.readdirSync(profiles)[0]);
}

// A copy of the example with a bundle of two steps in it; returns the folder.
export async function recordExample(world, name, words) {
  const folder = ownFolder(world, name);
  fs.cpSync(path.join(EXAMPLES, name), folder, { recursive: true });
  await run(world, folder, ['run', '--steps', '2'], ['train.py', ...words]);
  return folder;
}

// The newest bundle once more, as a run a minute later would leave it: what it says last is its manifest.
export function recordAgain(folder) {
  const profiles = path.join(folder, '.hotlens', 'profiles');
  const [newest] = fs
    .readdirSync(profiles)
    .filter((name) => fs.existsSync(path.join(profiles, name, 'manifest.json')))
    .sort()
    .reverse();
  const manifest = JSON.parse(fs.readFileSync(path.join(profiles, newest, 'manifest.json'), 'utf8'));
  const created = new Date(Date.parse(manifest.created) + 60000).toISOString().replace(/\.\d+Z$/, 'Z');
  const id = `${created.replace(/[-:]/g, '')}-abcdef`;
  const target = path.join(profiles, id);
  fs.mkdirSync(target);
  for (const name of fs.readdirSync(path.join(profiles, newest)).filter((each) => each !== 'manifest.json'))
    fs.cpSync(path.join(profiles, newest, name), path.join(target, name), { recursive: true });
  fs.writeFileSync(path.join(target, 'manifest.json'), JSON.stringify({ ...manifest, id, created }));
}
