import assert from 'node:assert/strict';
import { test } from 'node:test';
import { helpsOf } from '../plan/gains';
import type { Finding } from '../server/messages';
import type { Outcome, Ratio } from '../server/what_if_messages';

const FUSED: Finding = {
  kind: 'fused_optimizer',
  title: 'Optimizer with fused=True',
  file: '/w/train.py',
  line: 40,
  low: 0.834,
  savedAtMost: 4_150_000,
  evidence: [
    { what: 'SGD, one parameter after the other', time: 4_200_000, where: '' },
    { what: '161 parameters', time: 0, where: '' },
  ],
  assumes: ['its options have a fused form'],
};
const ratio = (value: number, low: number, high: number, words: string): Ratio => ({ ratio: value, low, high, words });
const outcome = (kind: string, rest: Partial<Outcome>): Outcome => ({ kind, title: `change ${kind}`, assumes: [], ...rest });
const words = ({ gains }: { readonly gains: readonly { readonly words: string }[] }): string[] => gains.map((gain) => gain.words);

test('what only a rule tells says at most, why, and under which conditions', () => {
  const [help] = helpsOf([FUSED], []).rows;
  assert.deepEqual(words(help!), ['at most −17 %']);
  assert.ok(Math.abs(help!.gains[0]!.share - 0.166) < 1e-9);
  assert.equal(help!.gains[0]!.interval, undefined);
  assert.deepEqual(help!.why, [
    ['SGD, one parameter after the other', '4.20 ms'],
    ['161 parameters', ''],
  ]);
  assert.deepEqual(help!.conditions, ['if its options have a fused form']);
  assert.deepEqual(help!.place, { file: '/w/train.py', line: 40 });
  const { line: _, ...nowhere } = FUSED;
  assert.equal(helpsOf([nowhere], []).rows[0]!.place, undefined);
  assert.equal(helpsOf([{ ...FUSED, low: 0 }], []).rows[0]!.gains[0]!.share, 1);
});

test('what only runs tell promises nothing', () => {
  const [help] = helpsOf([{ ...FUSED, low: 1, savedAtMost: 0, onlyMeasured: true }], []).rows;
  assert.deepEqual(words(help!), ['only runs tell how much']);
  assert.equal(help!.gains[0]!.share, 0);
});

test('a prediction stands in place of the bound, and what was verified under it', () => {
  const predicted = ratio(0.87, 0.84, 0.9, '≈ −13 % (−16…−10)');
  const verified = { ...ratio(0.872, 0.861, 0.883, '−12.8 % ± 1.1 %, 6 pairs'), losses: 'the first losses are equal' };
  const known = outcome('fused_optimizer', { assumes: ['its options have a fused form', 'torch stays'], predicted, verified });
  const [help] = helpsOf([FUSED], [known]).rows;
  assert.deepEqual(words(help!), ['predicted ≈ −13 % (−16…−10)', 'verified −12.8 % ± 1.1 %, 6 pairs']);
  assert.equal(help!.title, FUSED.title);
  assert.equal(help!.ratio, 0.872);
  const [from, to] = help!.gains[0]!.interval!;
  assert.ok(Math.abs(from - 0.1) < 1e-9 && Math.abs(to - 0.16) < 1e-9);
  assert.deepEqual(help!.conditions, ['if its options have a fused form', 'if torch stays', 'the first losses are equal']);
  assert.equal(help!.why.length, 2, 'the evidence stays');
});

test('what gives most comes first, and what was replayed without a finding is a row too', () => {
  const replayed = outcome('unbind_time', { predicted: ratio(0.5, 0.45, 0.55, '≈ −50 % (−55…−45)'), file: '/w/net.py', line: 3 });
  const slight = { ...FUSED, kind: 'pin_memory', low: 0.98, title: 'pin_memory=True' };
  const { rows, others } = helpsOf([slight, FUSED], [replayed]);
  assert.deepEqual(
    rows.map(({ title }) => title),
    ['change unbind_time', FUSED.title, 'pin_memory=True'],
  );
  assert.deepEqual(rows[0]!.place, { file: '/w/net.py', line: 3 });
  assert.deepEqual(others, []);
});

test('a replay without a certain gain is among the others; a run counts more than a replay', () => {
  const gain = ratio(0.87, 0.84, 0.9, '≈ −13 % (−16…−10)');
  const unsure = ratio(0.98, 0.94, 1.03, '≈ −2.0 % (−6.0…+3.0)');
  const { rows, others } = helpsOf(
    [],
    [
      outcome('slower', { predicted: ratio(1.2, 1.1, 1.3, '≈ +20 % (+10…+30)') }),
      outcome('unsure', { predicted: unsure }),
      outcome('refuted', { predicted: gain, verified: unsure }),
      outcome('proved', { predicted: unsure, verified: gain }),
      outcome('verified', { verified: gain }),
    ],
  );
  assert.deepEqual(
    rows.map(({ title }) => title),
    ['change proved', 'change verified'],
  );
  assert.deepEqual(
    others.map(({ title }) => title),
    ['change unsure', 'change refuted', 'change slower'],
  );
  assert.equal(others[2]!.gains[0]!.share, 0, 'what is slower has no bar');
});

test('of two findings of one kind the first has what is known of it', () => {
  const predicted = ratio(0.87, 0.84, 0.9, '≈ −13 % (−16…−10)');
  const { rows } = helpsOf([FUSED, { ...FUSED, line: 90 }], [outcome('fused_optimizer', { predicted })]);
  assert.deepEqual(rows.flatMap(words).sort(), ['at most −17 %', 'predicted ≈ −13 % (−16…−10)']);
  assert.notEqual(rows[0]!.key, rows[1]!.key);
});
