import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, RequestFailed, retryDelay, type Wire } from '../server/transport';

function line(): { wire: Wire; sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    wire: { send: (text) => sent.push(text), events: { open: () => undefined, message: () => undefined, lost: () => undefined } },
  };
}

test('what is asked before the wire is open, or when it was lost, is sent once it is there', async () => {
  const { wire, sent } = line();
  const transport = connect(wire);
  const answer = transport.request('hotlens/timeline/profiles', {});
  assert.equal(sent.length, 0);
  wire.events.open();
  wire.events.lost(false);
  wire.events.open();
  assert.equal(sent.length, 2);
  assert.equal(sent[0], sent[1]);
  wire.events.message(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { profiles: [] } }));
  assert.deepEqual(await answer, { profiles: [] });
  wire.events.lost(false);
  wire.events.open();
  assert.equal(sent.length, 2, 'an answered request is not sent again');
});

test('an error is its sentence, and says whether the profile is gone', async () => {
  const { wire } = line();
  const transport = connect(wire);
  wire.events.open();
  const answer = transport.request('hotlens/timeline/overview', {});
  wire.events.message(JSON.stringify({ id: 1, error: { code: -32602, message: 'There is no such profile.', data: { gone: true } } }));
  await assert.rejects(answer, (error) => error instanceof RequestFailed && error.gone && error.message === 'There is no such profile.');
});

test('what is no message is left aside', () => {
  const { wire } = line();
  const transport = connect(wire);
  const seen: unknown[] = [];
  transport.onNotification = (notification) => seen.push(notification);
  for (const text of [
    '',
    '{',
    'null',
    '[1]',
    '"x"',
    '{"id":99,"result":1}',
    '{"method":"other","params":{}}',
    '{"method":"hotlens/timeline/select","params":{"path":[1]}}',
  ]) {
    wire.events.message(text);
  }
  assert.deepEqual(seen, []);
  wire.events.message('{"method":"hotlens/timeline/select","params":{"profile":"p","step":0,"path":["a"]}}');
  wire.events.message('{"method":"hotlens/timeline/select","params":{"profile":"p","step":0,"path":["a"],"before":"old"}}');
  wire.events.message('{"method":"hotlens/timeline/select","params":{"profile":"p","step":0,"path":["a"],"before":1}}');
  assert.deepEqual(
    seen.map((each) => (each as { params: { before?: string } }).params.before),
    [undefined, 'old', undefined],
  );
});

test('attempts become rarer and never stop', () => {
  const delays = Array.from({ length: 12 }, (_, attempt) => retryDelay(attempt));
  assert.ok(delays[0]! <= 250 && delays.every((each, index) => index === 0 || each >= delays[index - 1]!) && delays.at(-1) === 5000);
});
