import assert from 'node:assert/strict';
import { test } from 'node:test';
import { besidePython, expandHome, findPython, foundPythons, isInside, pythonCandidates, type PythonSources } from '../python';

const plain: PythonSources = {
  setting: '',
  chosen: undefined,
  environment: { PATH: '/usr/local/bin:/usr/bin' },
  folders: ['/home/ada/net'],
  trusted: true,
  windows: false,
};

const only =
  (...files: string[]) =>
  (file: string): boolean =>
    files.includes(file);

test('each source is preferred over the ones after it', () => {
  const environment = { VIRTUAL_ENV: '/v', PATH: '/usr/bin' };
  const all: PythonSources = { ...plain, setting: '/s/python', chosen: '/c/python', environment };
  const inWorkspace = ['/home/ada/net/.venv/bin/python', '/home/ada/net/venv/bin/python'];
  const order = ['/s/python', '/c/python', '/v/bin/python', ...inWorkspace, '/usr/bin/python3'];
  for (let first = 0; first < order.length; first++) {
    assert.equal(findPython(all, only(...order.slice(first)))?.path, order[first]);
  }
});

test('python3 is preferred over python, wherever it is on PATH', () => {
  assert.equal(findPython(plain, only('/usr/local/bin/python', '/usr/bin/python3'))?.path, '/usr/bin/python3');
  assert.equal(findPython(plain, only('/usr/local/bin/python'))?.path, '/usr/local/bin/python');
});

test('nothing found is undefined', () => {
  assert.equal(
    findPython(plain, () => false),
    undefined,
  );
});

test('an untrusted workspace gives no interpreter', () => {
  const inside: PythonSources = { ...plain, chosen: '/home/ada/net/env/bin/python', environment: { PATH: '/home/ada/net/bin:/usr/bin' } };
  assert.equal(findPython(inside, () => true)?.path, '/home/ada/net/env/bin/python');
  assert.equal(findPython({ ...inside, trusted: false }, () => true)?.path, '/usr/bin/python3');
});

test('relative folders on PATH are left out', () => {
  const paths = pythonCandidates({ ...plain, folders: [], environment: { PATH: '.:bin:/usr/bin:' } }).map((each) => each.path);
  assert.deepEqual(paths, ['/usr/bin/python3', '/usr/bin/python']);
});

test('a program beside a Python', () => {
  assert.equal(besidePython('/env/bin/python', 'hotlens', false), '/env/bin/hotlens');
});

test('~ stands for the home folder at the start only', () => {
  assert.equal(expandHome('~/env/bin/python', { HOME: '/home/ada' }), '/home/ada/env/bin/python');
  assert.equal(expandHome('/x/~/python', { HOME: '/home/ada' }), '/x/~/python');
  assert.equal(expandHome('~/python', {}), '~/python');
});

test('inside means below', () => {
  assert.ok(isInside('/a/b/c', '/a/b'));
  assert.ok(!isInside('/a/b', '/a/b'));
  assert.ok(!isInside('/a/bc', '/a/b'));
  assert.ok(isInside('/a/b/..c/d', '/a/b'));
});

test('all interpreters that are there can be chosen from, each once; none of an untrusted workspace', () => {
  const known = ['/conda/bin/python', '/usr/bin/python3', '/home/ada/net/env/bin/python', '/gone/python'];
  const there = only('/usr/bin/python3', '/home/ada/net/.venv/bin/python', '/conda/bin/python', '/home/ada/net/env/bin/python');
  const paths = (from: PythonSources): string[] => foundPythons(from, there).map((each) => each.path);
  const inWorkspace = ['/home/ada/net/.venv/bin/python', '/home/ada/net/env/bin/python'];
  assert.deepEqual(paths({ ...plain, known }), [inWorkspace[0], '/usr/bin/python3', '/conda/bin/python', inWorkspace[1]]);
  assert.deepEqual(paths({ ...plain, known, trusted: false }), ['/usr/bin/python3', '/conda/bin/python']);
});
