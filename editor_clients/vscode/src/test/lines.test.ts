import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHighlighted } from '../lines';

test('lines to highlight are those with a file and whole numbers in order; anything else is left out', () => {
  const good = { uri: 'file:///m.py', line: 3, endLine: 4 };
  const odd = [
    null,
    7,
    {},
    { ...good, uri: 1 },
    { ...good, line: -1 },
    { ...good, line: 1.5 },
    { ...good, endLine: 2 },
    { ...good, line: '3' },
  ];
  assert.deepEqual(readHighlighted({ lines: [good, ...odd, { ...good, endLine: 3 }] }), [good, { ...good, endLine: 3 }]);
  for (const params of [undefined, null, [], {}, { lines: good }, 'lines']) assert.deepEqual(readHighlighted(params), []);
});
