import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerTo, errorTo, pageHtml, readFromPage } from '../page';

test('a page asks for the timeline and nothing else', () => {
  const request = (method: unknown, id: unknown = 1) =>
    readFromPage({ rpc: JSON.stringify({ jsonrpc: '2.0', id, method, params: { a: 1 } }) });
  assert.deepEqual(request('hotlens/timeline/level'), { kind: 'request', id: 1, method: 'hotlens/timeline/level', params: { a: 1 } });
  for (const method of ['workspace/executeCommand', 'shutdown', 'hotlens/profileState', 7, undefined])
    assert.equal(request(method), undefined);
  assert.equal(request('hotlens/timeline/level', 'x'), undefined);
});

test('what is no message is left aside', () => {
  for (const message of [
    undefined,
    null,
    1,
    'ready',
    [],
    {},
    { rpc: '{' },
    { rpc: 'null' },
    { rpc: 5 },
    { save: { name: 'x' } },
    { save: null },
    { ready: 1 },
  ]) {
    assert.equal(readFromPage(message), undefined);
  }
  assert.deepEqual(readFromPage({ ready: true }), { kind: 'ready' });
});

test('a file to save has a name without folders', () => {
  const data = new Uint8Array([1]);
  assert.deepEqual(readFromPage({ save: { name: '../../etc/a b.svg', data } }), { kind: 'save', name: '.._.._etc_a_b.svg', data });
});

test('the page runs its own script alone, nothing inline and nothing from elsewhere', () => {
  const html = pageHtml({ script: 'vscode:timeline.js', style: 'vscode:timeline.css', source: 'vscode:', nonce: 'abc' });
  const policy = /content="([^"]*default-src[^"]*)"/.exec(html)?.[1] ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'nonce-abc'/);
  assert.ok(!policy.includes('unsafe') && !/connect-src|frame-src/.test(policy));
  assert.equal(html.match(/<script/g)?.length, 1);
  assert.ok(!/ on\w+=| style=/.test(html));
});

test('an error reaches the page as the server said it', () => {
  const error = Object.assign(new Error('gone'), { code: -32602, data: { gone: true } });
  assert.deepEqual(JSON.parse(errorTo(4, error)), {
    jsonrpc: '2.0',
    id: 4,
    error: { code: -32602, message: 'gone', data: { gone: true } },
  });
  assert.equal(JSON.parse(errorTo(4, 'broken')).error.message, 'broken');
  assert.deepEqual(JSON.parse(answerTo(4, { a: 1 })), { jsonrpc: '2.0', id: 4, result: { a: 1 } });
});
