import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlideEffect } from '../base/slider';
import { budgetStep, choiceAt, memoryAt, planOf, stairsOf, timeAt, turns, type BudgetInput, type BudgetState } from '../plan/model';
import { applyCommand, blocksWords, budgetWords, choiceWords, planKnownWords } from '../plan/words';
import type { Checkpoints, PlanPoint, WhatIfs } from '../server/what_if_messages';
import { START } from '../state/address';
import { reduce } from '../state/reduce';
import { initialState } from '../state/state';
import { NO_WHAT_IFS, whatIfsAfter } from '../state/what_if';
import { needs } from '../store/needs';
import { levelOf, overviewOf, trackOf } from './fixtures';

const MB = 1e6;
const point = (numbers: readonly number[], peak: number, ms: number, change?: string): PlanPoint => ({
  blocks: numbers.map((number) => `h.${number}`),
  peak: peak * MB,
  step: ms * 1e6,
  low: ms * 0.98e6,
  high: ms * 1.02e6,
  ...(change === undefined ? {} : { change }),
});
const CURVE: Checkpoints = {
  blocks: 6,
  points: [
    point([], 84, 100),
    point([0, 2], 60, 113, '≈ +13 % (+11…+15)'),
    point([0, 1, 2, 4], 48, 118, '≈ +18 % (+16…+20)'),
    point([0, 1, 2, 3, 4, 5], 34, 140, '≈ +40 % (+37…+43)'),
  ],
};
const MODEL = planOf(CURVE)!;

test('a budget picks the cheapest choice within it', () => {
  const blocksAt = (budget: number): number => choiceAt(MODEL, budget * MB).blocks.length;
  assert.deepEqual([84, 83, 60, 59, 48, 47, 34, 20].map(blocksAt), [0, 2, 2, 4, 4, 6, 6, 6]);
  const noisy = planOf({ ...CURVE, points: [point([], 84, 100), point([0], 70, 99), point([0, 2], 60, 98)] })!;
  assert.equal(choiceAt(noisy, 75 * MB).blocks.length, 2, 'less memory for less time');
  assert.deepEqual(turns(noisy), [60 * MB, 84 * MB], 'keys pass what nobody would choose');
  assert.equal(choiceAt(noisy, 84 * MB).blocks.length, 0, 'a budget that the step keeps buys nothing');
});

test('there is no curve without the unchanged step and another one below it', () => {
  assert.equal(planOf({ blocks: 6, points: [] }), undefined);
  assert.equal(planOf({ blocks: 6, points: [point([], 84, 100)] }), undefined);
  assert.equal(planOf({ blocks: 6, points: [point([0], 60, 113)] }), undefined);
  assert.equal(planOf({ blocks: 6, points: [point([], 84, 100), point([0], 90, 113)] }), undefined);
});

test('the curve is a staircase inside its plot, with its intervals', () => {
  const stairs = stairsOf(MODEL);
  assert.deepEqual(
    stairs.map(({ from, to, point: { blocks } }) => [from / MB, to / MB, blocks.length]),
    [
      [34, 48, 6],
      [48, 60, 4],
      [60, 84, 2],
    ],
  );
  for (const { peak, low, high } of MODEL.points) {
    for (const share of [memoryAt(MODEL, peak), timeAt(MODEL, low), timeAt(MODEL, high)])
      assert.ok(share > 0.05 && share < 0.95, `${share}`);
  }
  assert.ok(memoryAt(MODEL, 34 * MB) < memoryAt(MODEL, 84 * MB) && timeAt(MODEL, 100e6) < timeAt(MODEL, 140e6));
  const flat = planOf({ blocks: 2, points: [point([], 84, 100), { ...point([0], 60, 100), low: 1e8, high: 1e8 }] })!;
  assert.ok(Number.isFinite(timeAt(flat, 1e8)));
});

test('the words say what is saved, what it costs, and which blocks', () => {
  assert.equal(
    choiceWords(MODEL, CURVE.points[1]!, 6),
    '84.0 MB → 60.0 MB (−24.0 MB) for ≈ +13 % (+11…+15): checkpoint blocks 0 and 2 of h',
  );
  assert.equal(budgetWords(MODEL, 70 * MB, 6), `within 70.0 MB: ${choiceWords(MODEL, CURVE.points[1]!, 6)}`);
  assert.equal(budgetWords(MODEL, 60 * MB, 6), choiceWords(MODEL, CURVE.points[1]!, 6));
  assert.equal(budgetWords(MODEL, 84 * MB, 6), '84.0 MB: as it is');
  assert.match(choiceWords(MODEL, CURVE.points[3]!, 6), /checkpoint all 6 blocks$/);
  assert.equal(applyCommand('hotlens whatif checkpoint one', CURVE.points[1]!), 'hotlens whatif checkpoint one --budget 60120kB --apply');
  assert.equal(planKnownWords(MODEL, { ...CURVE, note: 'a note' }, undefined), 'predicted: 3 choices of 6 blocks · a note');
  const verified = { ratio: 1.128, low: 1.117, high: 1.139, words: '+12.8 % ± 1.1 %, 6 pairs' };
  assert.match(
    planKnownWords(MODEL, CURVE, { kind: 'checkpoint', title: '', assumes: [], verified }),
    /checkpoint: verified \+12\.8 % ± 1\.1 %, 6 pairs$/,
  );
});

test('blocks are told by their numbers where they are numbers of one list', () => {
  for (const [paths, expected] of [
    [['layers.3'], 'block 3 of layers'],
    [['0', '2', '5'], 'blocks 0, 2 and 5'],
    [['encoder.0', 'decoder.1'], 'encoder.0 and decoder.1'],
    [['left', 'right'], 'left and right'],
    [Array.from({ length: 11 }, (_, at) => `h.${at}`), 'blocks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more of h'],
  ] as const)
    assert.equal(blocksWords(paths, 40), expected);
});

function play(events: readonly BudgetInput[], value = MODEL.most): { state: BudgetState; effects: SlideEffect[] } {
  const all: SlideEffect[] = [];
  const state = events.reduce<BudgetState>(
    (before, event) => {
      const [next, effects] = budgetStep(before, event, MODEL);
      all.push(...effects);
      return next;
    },
    { value },
  );
  return { state, effects: all };
}
const at = (mb: number): number => memoryAt(MODEL, mb * MB);
const down = (mb: number, onHandle = true): BudgetInput => ({ type: 'down', on: 'budget', at: at(mb), onHandle });

test('a drag shows budgets, snaps to what was replayed, and chooses where it ends', () => {
  const { state, effects } = play([down(84), { type: 'move', at: at(70) }, { type: 'move', at: at(60) + 0.01 }, { type: 'up' }]);
  assert.equal(state.value, 60 * MB);
  assert.deepEqual(
    effects.map(({ type }) => type),
    ['grab', 'show', 'show', 'release', 'choose'],
  );
  assert.equal(play([down(70, false)]).state.value, 70 * MB, 'the plot leads to where it is pressed');
  assert.equal(play([down(84), { type: 'move', at: -5 }]).state.value, 34 * MB);
  assert.equal(play([down(84), { type: 'move', at: 5 }]).state.value, 84 * MB);
  assert.equal(play([down(84), { type: 'move', at: at(48) }, { type: 'key', key: 'Escape' }]).state.value, 84 * MB);
});

test('keys go from choice to choice, and no further than the last', () => {
  const after = (key: string, mb: number): number => play([{ type: 'key', key }], mb * MB).state.value / MB;
  assert.deepEqual(
    ['ArrowLeft', 'ArrowDown', 'PageDown', 'ArrowRight', 'Home', 'End', 'Escape'].map((key) => after(key, 60)),
    [48, 48, 48, 84, 34, 84, 84],
  );
  assert.equal(after('ArrowLeft', 70), 60, 'from between two choices to the next one');
  assert.equal(after('ArrowLeft', 34), 34);
  assert.deepEqual(play([{ type: 'key', key: 'a' }]).effects, []);
});

const answerOf = (rest: Partial<WhatIfs> = {}): WhatIfs => ({ profile: 'p', outcomes: [], checkpoints: CURVE, edits: false, ...rest });

test('the unchanged step is no choice, and a budget stays while there is a curve', () => {
  const known = whatIfsAfter(NO_WHAT_IFS, { type: 'what-ifs', whatIfs: answerOf(), asked: 0 });
  const chosen = whatIfsAfter(known, { type: 'choose budget', budget: 60 * MB });
  assert.equal(chosen.chosen, 60 * MB);
  assert.equal(whatIfsAfter(chosen, { type: 'choose budget', budget: 84 * MB }).chosen, undefined);
  assert.equal(whatIfsAfter(chosen, { type: 'what-ifs', whatIfs: answerOf(), asked: 1 }).chosen, 60 * MB);
  const { checkpoints: _, ...gone } = answerOf();
  assert.equal(whatIfsAfter(chosen, { type: 'what-ifs', whatIfs: gone, asked: 1 }).chosen, undefined);
});

test('changes are asked for once, and again after each change', () => {
  const bare = reduce(initialState({ ...START, profile: 'p' }), { type: 'overview', overview: overviewOf('p', [[0, 10]]) });
  const level = levelOf([trackOf('cpu', [{ start: 0, duration: 9, label: 'forward' }])], [0, 10]);
  const first = reduce(bare, { type: 'level', depth: 0, whole: true, loaded: { level, width: 1000, unfold: false } });
  const asks = (state: typeof first): boolean => needs(state, 1000).some(({ slot }) => slot === 'what-ifs');
  assert.ok(asks(first));
  const known = reduce(first, { type: 'what-ifs', whatIfs: answerOf(), asked: first.whatIfs.asked });
  assert.ok(!asks(known) && asks(reduce(known, { type: 'what-ifs changed' })));
  assert.ok(asks(reduce(first, { type: 'what-ifs', whatIfs: answerOf({ profile: 'q' }), asked: first.whatIfs.asked })));
  assert.equal(reduce(known, { type: 'show profile', profile: 'q' }).whatIfs.answer, undefined);
});
