import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, readHotLines, rows } from '../hot_lines';

const LINE = { uri: 'file:///w/my%20model.py', position: { line: 4, character: 8 }, text: 'x = f(x)', label: '9.81 ms 24%', share: 0.24 };

test('hot lines that cannot be read are left out', () => {
  assert.deepEqual(readHotLines({ lines: [LINE, { ...LINE, position: { line: -1, character: 0 } }, { ...LINE, share: '1' }, null, 5] }), [
    LINE,
  ]);
  for (const answer of [null, undefined, 5, {}, { lines: 5 }]) assert.deepEqual(readHotLines(answer), []);
});

test('a bar is full for the costliest line and has a cell for every line', () => {
  assert.equal(bar(0.24, 0.24), '▇'.repeat(10));
  assert.equal(bar(0.12, 0.24), '▇'.repeat(5) + '▁'.repeat(5));
  assert.equal(bar(0.0001, 0.24), `▇${'▁'.repeat(9)}`);
});

test('a row says the hint, the place and the line', () => {
  const [row] = rows([LINE]);
  assert.equal(row?.label, `${'▇'.repeat(10)} 9.81 ms 24%`);
  assert.equal(row?.description, 'my model.py:5');
  assert.equal(row?.detail, 'x = f(x)');
  const [cell] = rows([{ ...LINE, uri: 'vscode-notebook-cell:/w/train.ipynb#W2sZmlsZQ%3D%3D' }]);
  assert.equal(cell?.description, 'train.ipynb');
});
