import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bar, LEVELS, readMarks } from '../marks';
import { readDescribed, readPlaces } from '../place_answers';

test('marks that make no sense are left out, an answer without marks is none', () => {
  const good = { line: 3, level: 2, share: 0.1 };
  const bad = [{ ...good, level: 4 }, { ...good, line: -1 }, { line: 1 }, null, 'x'];
  assert.deepEqual(readMarks({ version: 7, marks: [...bad, good] }), { version: 7, marks: [good] });
  for (const answer of [null, undefined, 5, {}, { version: 1 }, { version: 'x', marks: [] }]) assert.equal(readMarks(answer), undefined);
});

test('a higher level is a higher bar, whatever the colour', () => {
  const heights = LEVELS.map((level) => {
    const svg = Buffer.from(bar(level, '#fff').split(',')[1] ?? '', 'base64').toString();
    return Number(/y="(\d+)" width="6" height="(\d+)"/.exec(svg)?.[2]);
  });
  assert.deepEqual(
    heights,
    [...heights].sort((a, b) => a - b),
  );
  assert.equal(new Set(heights).size, 3);
});

test('places of a layer and words of a line are read, nonsense is none', () => {
  const place = { uri: 'file:///a.py', range: { start: { line: 1, character: 2 }, end: { line: 1, character: 9 } } };
  assert.deepEqual(readPlaces({ places: [place, { uri: 5 }, { uri: 'file:///b.py', range: null }], message: 'm' }), {
    places: [place],
    message: 'm',
  });
  assert.deepEqual(readPlaces(undefined), { places: [] });
  assert.deepEqual(readDescribed({ markdown: 'x' }), { markdown: 'x' });
  assert.deepEqual(readDescribed({ markdown: 5, message: 'none' }), { message: 'none' });
});
