import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepTime } from '../format';

test('three significant digits, the unit by size', () => {
  const table: [number, string][] = [
    [41_600_000, '41.6 ms'],
    [9_814_000, '9.81 ms'],
    [999_600, '1.00 ms'],
    [999_400, '999 µs'],
    [1_040_000_000, '1.04 s'],
    [123_456_000_000, '123 s'],
    [1_234_000_000_000, '1234 s'],
    [87_400, '87.4 µs'],
    [640, '640 ns'],
  ];
  for (const [ns, text] of table) assert.equal(stepTime(ns), text);
});

test('what is not known has no text', () => {
  for (const ns of [undefined, 0, -5, Number.NaN]) assert.equal(stepTime(ns), undefined);
});
