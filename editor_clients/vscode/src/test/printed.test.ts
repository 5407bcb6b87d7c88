import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Printed } from '../printed';

test('lines end as in a terminal, and bars stay bars', () => {
  const printed = new Printed();
  assert.equal(printed.receive({ text: 'one\ntwo\r\n 10%|█\r 20%|██' }), 'one\r\ntwo\r\n 10%|█\r 20%|██');
  assert.equal(printed.text(), 'one\r\ntwo\r\n 10%|█\r 20%|██');
});

test('another run begins on a clear screen', () => {
  const printed = new Printed();
  printed.receive({ text: 'before\n' });
  assert.equal(printed.receive({ text: '$ python train.py\n', begins: true }), '\x1bc$ python train.py\r\n');
  assert.equal(printed.text(), '$ python train.py\r\n');
});

test('what a flood leaves begins with a whole line', () => {
  const printed = new Printed();
  for (let n = 0; n < 30; n++) printed.receive({ text: `${'x'.repeat(60_000)}\nline ${n}\n` });
  assert.ok(printed.text().length <= 1024 * 1024);
  assert.match(printed.text(), /^(x{60000}|line \d+)\r\n/);
  assert.match(printed.text(), /line 29\r\n$/);
});

test('what is no text is nothing', () => {
  const printed = new Printed();
  for (const params of [undefined, null, {}, { text: 3 }]) assert.equal(printed.receive(params), '');
  assert.equal(printed.text(), '');
});
