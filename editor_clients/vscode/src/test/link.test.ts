import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressed } from '../link';

const PLAIN = 'file:///work/train.py';
const SPACE = 'file:///work/a%20b.py'; // of "a b.py"
const LITERAL = 'file:///work/a%2520b.py'; // of "a%20b.py"

test('a link leads to the document that it stands in, however often its argument was unescaped', () => {
  for (const address of [PLAIN, SPACE, LITERAL]) {
    let text = address;
    for (let times = 0; times <= 2; times++) {
      assert.equal(addressed(text, [address, PLAIN]), address);
      text = decodeURIComponent(text);
    }
  }
});

test('of two documents that a text may mean it is the first', () => {
  assert.equal(addressed('file:///work/a%20b.py', [LITERAL, SPACE]), LITERAL);
  assert.equal(addressed('file:///work/a%20b.py', [SPACE, LITERAL]), SPACE);
});

test('what is no address of these is none', () => {
  assert.equal(addressed('file:///work/other.py', [PLAIN, SPACE]), undefined);
  assert.equal(addressed('file:///work/100%.py', ['file:///work/100%25.py']), 'file:///work/100%25.py');
  assert.equal(addressed('', []), undefined);
});
