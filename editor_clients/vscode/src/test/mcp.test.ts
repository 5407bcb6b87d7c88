import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { offerAgents, PROVIDER, type Definition, type Surroundings } from '../mcp';

class Server implements Definition {
  constructor(
    readonly label: string,
    readonly command: string,
    readonly args: string[],
    readonly env: Record<string, string>,
    readonly version: string,
  ) {}
}

const SURROUNDINGS: Surroundings = {
  trusted: true,
  folders: ['/work/a'],
  program: { path: '/bin/hotlens', version: '0.1.0' },
  python: '/env/bin/python',
};

async function offered(surroundings: Surroundings): Promise<{ id: string; servers: Definition[] }> {
  let found: { id: string; servers: Promise<Definition[]> } | undefined;
  const lm = {
    registerMcpServerDefinitionProvider(id: string, provider: { provideMcpServerDefinitions(): Promise<Definition[]> }) {
      found = { id, servers: provider.provideMcpServerDefinitions() };
      return { dispose: () => undefined };
    },
  };
  assert.equal(offerAgents({ lm, McpStdioServerDefinition: Server }, () => Promise.resolve(surroundings)).length, 1);
  assert.ok(found !== undefined);
  return { id: found.id, servers: await found.servers };
}

test('agents get one server for each folder, with the program and the Python that the editor uses', async () => {
  const { id, servers } = await offered(SURROUNDINGS);
  assert.equal(id, PROVIDER);
  assert.deepEqual(servers, [
    new Server('Hotlens', '/bin/hotlens', ['mcp', '--folder', '/work/a', '--python', '/env/bin/python'], {}, '0.1.0'),
  ]);
  const two = await offered({ ...SURROUNDINGS, folders: ['/work/a', '/work/b'], python: undefined });
  assert.deepEqual(
    two.servers.map(({ label }) => label),
    ['Hotlens (a)', 'Hotlens (b)'],
  );
});

test('agents get nothing where the workspace is not trusted or there is no program', async () => {
  assert.deepEqual((await offered({ ...SURROUNDINGS, trusted: false })).servers, []);
  assert.deepEqual((await offered({ ...SURROUNDINGS, program: undefined })).servers, []);
});

test('an older VS Code is left alone', () => {
  const look = (): Promise<Surroundings> => Promise.reject(new Error('not asked'));
  assert.deepEqual(offerAgents({}, look), []);
  assert.deepEqual(offerAgents({ lm: {} }, look), []);
  assert.deepEqual(offerAgents({ McpStdioServerDefinition: Server }, look), []);
});

test('the package names the provider', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { mcpServerDefinitionProviders: { id: string }[] } };
  assert.deepEqual(
    manifest.contributes.mcpServerDefinitionProviders.map(({ id }) => id),
    [PROVIDER],
  );
});

test('a VS Code that has the interface and refuses it keeps the rest of the extension', () => {
  const refusing = {
    registerMcpServerDefinitionProvider(): { dispose(): unknown } {
      throw new Error('MCP configuration providers must be registered in the contributes.modelContextServerCollections array');
    },
  };
  assert.deepEqual(
    offerAgents({ lm: refusing, McpStdioServerDefinition: Server }, () => Promise.resolve(SURROUNDINGS)),
    [],
  );
});
