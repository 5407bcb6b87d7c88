import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisUnit, bytes, exact, percent, rate, signedTime, time, upright } from '../base/format';
import { costWords } from '../panel/costs';
import { tipOf } from '../screen/breakdown';
import { storyWords } from '../screen/header';
import { shortName } from '../server/columns';

test('times have three significant digits and the unit by size', () => {
  const table: [number, string][] = [
    [0, '0'],
    [7, '7 ns'],
    [640, '640 ns'],
    [999.6, '1.00 µs'],
    [87_400, '87.4 µs'],
    [999_600, '1.00 ms'],
    [41_600_000, '41.6 ms'],
    [1_040_000_000, '1.04 s'],
    [123_456_000_000, '123 s'],
    [1_234_000_000_000, '1234 s'],
  ];
  for (const [ns, text] of table) assert.equal(time(ns), text);
});

test('sizes count in thousands, differences carry their sign', () => {
  assert.deepEqual([0, 12, 1_500, 25_700_000, 24e9].map(bytes), ['0', '12 B', '1.50 kB', '25.7 MB', '24.0 GB']);
  assert.deepEqual([-1_500_000, 7_200_000].map(signedTime), ['−1.50 ms', '+7.20 ms']);
});

test('shares are whole from ten percent on, and what is there is never zero', () => {
  assert.deepEqual([0, 0.0004, 0.024, 0.0996, 0.374, 1].map(percent), ['0 %', '<0.1 %', '2.4 %', '10.0 %', '37 %', '100 %']);
});

test('a share names its whole', () => {
  const row = { label: 'layer1', kind: 'module', value: 510_000, parts: [], children: 0 } as const;
  assert.equal(tipOf(row, 'time', 1_000_000), 'layer1: 510 µs, 51 % of the step');
  assert.equal(tipOf({ ...row, value: 510 }, 'memory', 1000), 'layer1: 510 B, 51 % of the memory of the step');
  const evidence = { what: 'host loads data', time: 510_000, where: '' };
  assert.equal(storyWords(evidence, 1_000_000), '51 % of the step: host loads data');
  assert.equal(storyWords(evidence, 1_000_000, false), '51 %: host loads data');
  assert.equal(storyWords({ ...evidence, time: 0 }, 1_000_000), 'host loads data');
});

test('rates have the unit by size, and bytes that are not known are no zero', () => {
  assert.deepEqual(
    [4.68e12, 999.6e9, 12.3, 0].map((value) => rate(value, 'FLOP/s')),
    ['4.68 TFLOP/s', '1.00 TFLOP/s', '12.3 FLOP/s', '0.00 FLOP/s'],
  );
  assert.deepEqual(costWords({ flopsPerSecond: 2e12, bytesPerSecond: 1.5e9, ofRoof: 0.5 }), [
    '2.00 TFLOP/s',
    '1.50 GB/s',
    '50 % of the roof',
  ]);
  assert.deepEqual(costWords({ flopsPerSecond: 2e12 }), ['2.00 TFLOP/s', 'bytes unknown']);
});

test('no name turns the direction of what stands beside it, and none is empty', () => {
  assert.equal(upright('\u202eevil\u202c \u2067x\u2069 مرحبا'), '\ufffdevil\ufffd \ufffdx\ufffd مرحبا');
  assert.deepEqual(['aten::mm', '', 'aten::'].map(shortName), ['mm', '(no name)', 'aten::']);
});

test('the full value groups its digits', () => assert.equal(exact(12_345_678).replaceAll('\u202f', '_'), '12_345_678 ns'));

test('numbers of an axis share a unit and tell neighbours apart', () => {
  const table: [number, number, string, string][] = [
    [41_600_000, 5_000_000, 'ms', '40'],
    [5_620_000, 20_000, 'ms', '4.30'],
    [900, 100, 'ns', '400'],
    [2e9, 5e8, 's', '1.5'],
  ];
  for (const [greatest, step, unit, text] of table) {
    const axis = axisUnit(greatest, step);
    assert.equal(axis.unit, unit);
    assert.equal(axis.text({ ms: text === '40' ? 40_000_000 : 4_300_000, ns: 400, s: 1.5e9 }[unit]!), text);
  }
});
