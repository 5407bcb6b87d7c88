import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { findServer, isNewer, isServer, probeByVersion, readVersion, serverCandidates, type Probe, type ServerSources } from '../server';

const plain: ServerSources = {
  carried: '/ext/dist/server/bin/hotlens',
  setting: '',
  python: '/env/bin/python',
  environment: { PATH: '/usr/bin' },
  folders: ['/home/ada/net'],
  trusted: true,
  windows: false,
};

const installed =
  (...files: string[]): Probe =>
  async (file) =>
    files.includes(file) ? { version: '0.1.0' } : { problem: 'there is no such file' };

test('the environment of the chosen Python comes before PATH', async () => {
  const both = await findServer(plain, installed('/usr/bin/hotlens', '/env/bin/hotlens'));
  assert.ok(isServer(both));
  assert.equal(both.path, '/env/bin/hotlens');
  const path = await findServer(plain, installed('/usr/bin/hotlens'));
  assert.ok(isServer(path));
  assert.equal(path.origin, 'PATH');
});

test('a place the user named must work', async () => {
  const found = await findServer({ ...plain, setting: '/wrong' }, installed('/usr/bin/hotlens'));
  assert.ok(!isServer(found));
  assert.match(found.message, /\/wrong \(setting hotlens\.server\.path\): there is no such file/);
});

test('HOTLENS_SERVER wins over the setting', () => {
  const { named } = serverCandidates({ ...plain, setting: '/a', environment: { HOTLENS_SERVER: '/b' } });
  assert.equal(named?.path, '/b');
});

test('a missing server says how to install it and where it was looked for', async () => {
  const found = await findServer(plain, installed());
  assert.ok(!isServer(found));
  assert.match(found.message, /Install the Hotlens wheel/);
  assert.deepEqual(
    found.tried.map((each) => each.split(' ')[0]),
    ['/env/bin/hotlens', '/usr/bin/hotlens', '/ext/dist/server/bin/hotlens'],
  );
});

test('the program that the extension carries is taken unless a newer one is installed', async () => {
  const versions =
    (environment: string | undefined, carried: string | undefined): Probe =>
    async (file) => {
      const version = file === plain.carried ? carried : file === '/env/bin/hotlens' ? environment : undefined;
      return version === undefined ? { problem: 'there is no such file' } : { version };
    };
  const origin = async (environment: string | undefined, carried: string | undefined): Promise<string> => {
    const found = await findServer(plain, versions(environment, carried));
    return isServer(found) ? found.origin : 'none';
  };
  assert.equal(await origin(undefined, '0.2.0'), 'carried by the extension');
  assert.equal(await origin('0.1.0', '0.2.0'), 'carried by the extension');
  assert.equal(await origin('0.2.0', '0.2.0'), 'carried by the extension');
  assert.equal(await origin('0.10.0', '0.2.0'), 'Python environment');
  assert.equal(await origin('0.1.0', undefined), 'Python environment');
});

test('versions are compared number by number', () => {
  for (const [newer, older] of [
    ['0.10.0', '0.9.9'],
    ['1.0', '0.99.9'],
    ['0.2.1', '0.2'],
    ['1.0.0', '1.0.0-rc1'],
    ['1.0.0-rc2', '1.0.0-rc1'],
  ] as const) {
    assert.ok(isNewer(newer, older), `${newer} ${older}`);
    assert.ok(!isNewer(older, newer), `${older} ${newer}`);
  }
  assert.ok(!isNewer('1.0', '1.0.0'));
});

test('an untrusted workspace gives no server', () => {
  const sources: ServerSources = { ...plain, python: '/home/ada/net/.venv/bin/python' };
  assert.equal(serverCandidates(sources).others[0]?.path, '/home/ada/net/.venv/bin/hotlens');
  assert.equal(serverCandidates({ ...sources, trusted: false }).others[0]?.path, '/usr/bin/hotlens');
});

test('the version line', () => {
  assert.equal(readVersion('hotlens 0.1.0\n'), '0.1.0');
  assert.equal(readVersion('hotlens 1.2.3-rc1 (torch 2.13)\n'), '1.2.3-rc1');
  assert.equal(readVersion('Python 3.11.2\n'), undefined);
});

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens probe '));
after(() => fs.rmSync(folder, { recursive: true }));

function program(name: string, body: string, mode = 0o755): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode });
  return file;
}

test('real programs are asked for their version', async () => {
  assert.deepEqual(await probeByVersion(program('good', 'echo hotlens 0.3.0')), { version: '0.3.0' });
  assert.deepEqual(await probeByVersion(program('other', 'echo GNU bash, version 5.2')), { problem: 'it is another program' });
  assert.deepEqual(await probeByVersion(program('broken', 'exit 3')), { problem: 'it failed (3)' });
  assert.deepEqual(await probeByVersion(program('locked', 'echo hotlens 0.3.0', 0o644)), { problem: 'it is not executable' });
  assert.deepEqual(await probeByVersion(path.join(folder, 'absent')), { problem: 'there is no such file' });
});
