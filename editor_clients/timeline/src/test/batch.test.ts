import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlideEffect } from '../base/slider';
import { dragStep, handleAt, type DragInput, type DragState } from '../batch/drag';
import { costAt, endOn, fits, modelOf, sizeAt, topOf, type BatchModel } from '../batch/model';
import { gainWords, knownWords, lineWith, memoryWords, rateWords, sizeWords } from '../batch/words';
import type { BatchPoint, BatchSizes } from '../server/batch_messages';
import { START } from '../state/address';
import { batchAfter, NO_BATCH, type BatchAction } from '../state/batch';
import { reduce } from '../state/reduce';
import { initialState } from '../state/state';
import { needs } from '../store/needs';
import { levelOf, overviewOf, random, trackOf } from './fixtures';

const MS = 1e6;
const GB = 1e9;
const point = (batchSize: number, ms: number, peak: number, spread = 0.02): BatchPoint => ({
  batchSize,
  measured: batchSize === 32,
  step: ms * MS,
  low: ms * (1 - spread) * MS,
  high: ms * (1 + spread) * MS,
  peak: peak * GB,
});
const sizesOf = (points: readonly BatchPoint[], rest: Partial<BatchSizes> = {}): BatchSizes => ({
  profile: 'p',
  batchSize: 32,
  points,
  refused: [],
  places: [],
  predict: 'offered',
  commands: [],
  edits: true,
  ...rest,
});
const POINTS = [point(16, 20, 3), point(32, 30, 5), point(64, 50, 9), point(128, 100, 17)];
const MEMORY = { bytes: 16 * GB, of: 'the device', largest: 120 };
const MODEL = modelOf(sizesOf(POINTS, { memory: MEMORY }))!;

test('on a point the numbers are its own, between two the time and the peak lie on a line', () => {
  for (const { batchSize, step, peak } of POINTS) {
    const cost = costAt(MODEL, batchSize);
    assert.equal(cost.peak, peak);
    assert.ok(Math.abs(cost.rate!.value - (batchSize / step!) * 1e9) < 1e-6);
    assert.equal(cost.measured, batchSize === 32);
  }
  const middle = costAt(MODEL, 48);
  assert.equal(middle.peak, 7 * GB);
  assert.ok(Math.abs(middle.rate!.value - 48 / 0.04) < 1e-6);
  assert.ok(middle.rate!.low < middle.rate!.value && middle.rate!.value < middle.rate!.high);
});

test('nothing is told beyond the predicted sizes', () => {
  assert.equal(costAt(MODEL, 1000).batchSize, 128);
  assert.equal(costAt(MODEL, 1).batchSize, 16);
  assert.equal(sizeAt(MODEL, 'memory', 1e15, 32), 128);
  assert.equal(sizeAt(MODEL, 'memory', 0, 32), 16);
  assert.equal(modelOf(sizesOf([POINTS[1]!])), undefined, 'one size alone is no model');
  assert.equal(modelOf(sizesOf([POINTS[0]!, POINTS[2]!])), undefined, 'nor is one without a measured size');
});

test('a size whose speed is not known has its memory alone', () => {
  const model = modelOf(sizesOf([...POINTS.slice(0, 3), { batchSize: 128, measured: false, peak: 17 * GB, note: 'too large to try' }]))!;
  assert.ok(costAt(model, 64).rate !== undefined, 'the last point that was timed keeps its time');
  assert.equal(costAt(model, 65).rate, undefined);
  assert.equal(costAt(model, 96).peak, 13 * GB);
  assert.equal(rateWords(costAt(model, 96)), 'not known');
  assert.equal(handleAt(model, 'throughput', 96), handleAt(model, 'throughput', 64));
  assert.equal(sizeAt(model, 'throughput', 1e9, 64), 64);
  assert.match(sizeWords(model, 96), /samples\/s not known, ≈ 13\.0 GB/);
  assert.match(knownWords(model, sizesOf([])), /no speed is known beyond 64/);
});

test('the size under the pointer is the one whose value is closest, on the side where the drag is', () => {
  // Throughput rises up to 64 (1280/s), and is the same again at 128 (1280/s) after 1067/s at 32.
  const humped = modelOf(sizesOf([...POINTS.slice(0, 3), point(128, 120, 17)]))!;
  const rate = 1200;
  assert.equal(sizeAt(humped, 'throughput', rate, 40), 48);
  const falling = sizeAt(humped, 'throughput', rate, 110);
  assert.ok(falling > 64, `${falling}`);
  assert.ok(Math.abs(costAt(humped, falling).rate!.value - rate) < 3);
  assert.equal(sizeAt(humped, 'throughput', 1e9, 40), 64, 'no size is as fast: the fastest one');
});

test('whatever the points are, the size that is found shows a value as close as any', () => {
  const next = random(7);
  for (let run = 0; run < 200; run++) {
    let batchSize = 1 + Math.floor(next() * 8);
    const points = Array.from({ length: 2 + Math.floor(next() * 4) }, (_, at): BatchPoint => {
      batchSize += 1 + Math.floor(next() * 40);
      return { ...point(batchSize, 5 + next() * 50, 1 + next() * 9), measured: at === 0 };
    });
    const model = modelOf(sizesOf(points))!;
    for (const gauge of ['throughput', 'memory'] as const) {
      const top = topOf(model, gauge);
      const target = next() * top;
      const off = (size: number): number => {
        const cost = costAt(model, size);
        return Math.abs((gauge === 'memory' ? cost.peak : cost.rate!.value) - target);
      };
      const found = sizeAt(model, gauge, target, model.base.batchSize);
      const best = Math.min(...Array.from({ length: model.most - model.least + 1 }, (_, at) => off(model.least + at)));
      assert.ok(Number.isInteger(found));
      assert.ok(off(found) <= best + 0.0041 * top, `run ${run} ${gauge}: ${found} is off by ${off(found)}, not ${best}`);
    }
  }
});

test('memory ends where it does, on both bars', () => {
  assert.equal(endOn(MODEL, 'memory'), (16 * GB) / topOf(MODEL, 'memory'));
  assert.ok(Math.abs(endOn(MODEL, 'throughput')! - handleAt(MODEL, 'throughput', 120)) < 1e-12);
  assert.ok(fits(MODEL, 120) && !fits(MODEL, 121));
  const roomy = modelOf(sizesOf(POINTS, { memory: { bytes: 400 * GB, of: '', largest: 3000 } }))!;
  assert.equal(endOn(roomy, 'memory'), undefined, 'an end far beyond the predicted sizes would leave them no room');
  assert.equal(endOn(roomy, 'throughput'), undefined);
  assert.match(knownWords(roomy, sizesOf([])), /up to 3000 fit into 400 GB$/);
});

test('an interval without an end to speak of spoils neither the words nor the bar', () => {
  const model = modelOf(sizesOf([POINTS[1]!, { ...point(64, 40, 9), low: 1 }]))!;
  assert.equal(gainWords(costAt(model, 64), costAt(model, 32)), '≈ +50 % samples/s (+47 or more)');
  assert.ok(handleAt(model, 'throughput', 64) > 0.7);
});

test('what is predicted is told so, with its interval', () => {
  assert.equal(sizeWords(MODEL, 48), '32 → 48: ≈ +13 % samples/s (+10…+15), ≈ 7.00 GB of 16.0 GB');
  assert.equal(sizeWords(MODEL, 32), '32, measured: 1067 samples/s, 5.00 GB of 16.0 GB');
  assert.equal(memoryWords(costAt(MODEL, 32), MODEL), '5.00 GB of 16.0 GB');
  assert.match(sizeWords(MODEL, 128), /does not fit: up to 120 fit into 16\.0 GB of the device/);
  const flat = modelOf(sizesOf([point(32, 30, 5), point(64, 60.3, 9)]))!;
  assert.equal(gainWords(costAt(flat, 64), costAt(flat, 32)), 'about as many samples/s');
  assert.match(gainWords(costAt(MODEL, 16), costAt(MODEL, 32)), /^≈ −25 % samples\/s \(−26…−23\)$/);
  const words = knownWords(MODEL, sizesOf([], { refused: [{ batchSize: 7, reason: 'is not whole' }] }));
  assert.equal(
    words,
    'measured: 32 · predicted: 16, 64 and 128 · beyond 128 nothing is known · up to 120 fit into 16.0 GB of the device · 7 is not predicted: is not whole',
  );
  assert.equal(lineWith({ file: 'a.py', line: 4, before: '    batch_size = ', after: '  # small' }, 48), 'batch_size = 48  # small');
});

function play(events: readonly DragInput[], size = 32, model: BatchModel = MODEL): { state: DragState; effects: SlideEffect[] } {
  const all: SlideEffect[] = [];
  const state = events.reduce<DragState>(
    (before, event) => {
      const [next, effects] = dragStep(before, event, model);
      all.push(...effects);
      return next;
    },
    { value: size },
  );
  return { state, effects: all };
}
const at = (size: number): number => handleAt(MODEL, 'memory', size);
const down = (where: number, onHandle = true): DragInput => ({ type: 'down', on: 'memory', at: where, onHandle });
const chosen = (effects: readonly SlideEffect[]): number[] => effects.flatMap((each) => (each.type === 'choose' ? [each.value] : []));

test('a drag shows sizes, and its end chooses the last one', () => {
  const { state, effects } = play([down(at(32)), { type: 'move', at: at(48) }, { type: 'move', at: at(64) }, { type: 'up' }]);
  assert.equal(state.value, 64);
  assert.equal(state.drag, undefined);
  assert.deepEqual(chosen(effects), [64]);
  assert.deepEqual(
    effects.map(({ type }) => type),
    ['grab', 'show', 'show', 'release', 'choose'],
  );
});

test('where sizes lie closer than pixels, near one that was predicted itself that one is meant', () => {
  const crowded: BatchModel = { ...MODEL, points: MODEL.points.map((point) => ({ ...point, peak: 1e7 + 2e4 * point.batchSize })) };
  const where = (size: number): number => handleAt(crowded, 'memory', size);
  const [grabbed] = dragStep({ value: 32 }, { type: 'down', on: 'memory', at: where(32), onHandle: true }, crowded);
  const movedTo = (at: number): number => dragStep(grabbed, { type: 'move', at }, crowded)[0].value;
  assert.equal(movedTo(where(65)), 64);
  assert.equal(movedTo(where(63)), 64);
  assert.equal(movedTo(where(56)), 56);
  const [held] = dragStep({ value: 32 }, down(at(32)), MODEL);
  assert.equal(dragStep(held, { type: 'move', at: at(64) - 0.0029 }, MODEL)[0].value, 64);
  assert.notEqual(dragStep(held, { type: 'move', at: (at(32) + at(64)) / 2 }, MODEL)[0].value, 64);
});

test('a handle that is held beside its middle does not jump, and the bar itself leads to where it is pressed', () => {
  assert.equal(play([down(at(32) + 0.01), { type: 'move', at: at(32) + 0.01 }]).state.value, 32);
  assert.equal(play([down(at(32) + 0.01), { type: 'move', at: at(64) + 0.01 }]).state.value, 64);
  assert.equal(play([down(at(64), false)]).state.value, 64);
});

test('Escape ends a drag where it began, and without one goes back to the measured size', () => {
  const { state, effects } = play([down(at(48)), { type: 'move', at: at(64) }, { type: 'key', key: 'Escape' }, { type: 'up' }], 48);
  assert.equal(state.value, 48);
  assert.deepEqual(chosen(effects), []);
  assert.deepEqual(chosen(play([{ type: 'key', key: 'Escape' }], 48).effects), [32]);
  assert.deepEqual(play([down(at(48)), { type: 'move', at: at(64) }, { type: 'cancel' }], 48).state, { value: 48 });
  assert.deepEqual(play([{ type: 'move', at: 0.5 }, { type: 'up' }]).effects, [], 'a pointer that holds nothing does nothing');
});

test('keys go by one, by predicted sizes, and to the ends, and no further', () => {
  const after = (key: string, size = 32): number => play([{ type: 'key', key }], size).state.value;
  assert.deepEqual(
    ['ArrowRight', 'ArrowUp', 'ArrowLeft', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End'].map((key) => after(key)),
    [33, 33, 31, 31, 64, 16, 16, 128],
  );
  assert.equal(after('ArrowRight', 128), 128);
  assert.equal(after('PageUp', 128), 128);
  assert.deepEqual(chosen(play([{ type: 'key', key: 'ArrowRight' }]).effects), [33]);
  assert.deepEqual(play([{ type: 'key', key: 'Tab' }]).effects, [], 'other keys are not its own');
  assert.deepEqual(
    play([down(at(32)), { type: 'key', key: 'ArrowRight' }]).state.value,
    32,
    'while it is dragged it follows the pointer alone',
  );
});

test('the measured size is no choice, and what was said goes with the next one', () => {
  const known = batchAfter(NO_BATCH, { type: 'batch sizes', sizes: sizesOf(POINTS), asked: 0 });
  const after = (...actions: BatchAction[]): ReturnType<typeof batchAfter> => actions.reduce(batchAfter, known);
  assert.equal(after({ type: 'choose batch size', size: 48 }).chosen, 48);
  assert.equal(after({ type: 'choose batch size', size: 48 }, { type: 'choose batch size', size: 32 }).chosen, undefined);
  const refused = after({ type: 'choose batch size', size: 48 }, { type: 'batch size said', text: 'the text changed' });
  assert.deepEqual([refused.chosen, refused.said], [48, 'the text changed']);
  const done = after({ type: 'choose batch size', size: 48 }, { type: 'batch size said', text: 'set', done: true });
  assert.deepEqual([done.chosen, done.said], [undefined, 'set']);
  assert.equal(batchAfter(done, { type: 'choose batch size', size: 64 }).said, undefined);
});

test('predictions are asked for once, again after each change, and those of another profile count for nothing', () => {
  const bare = reduce(initialState({ ...START, profile: 'p' }), { type: 'overview', overview: overviewOf('p', [[0, 10]]) });
  const level = levelOf([trackOf('cpu', [{ start: 0, duration: 9, label: 'forward' }])], [0, 10]);
  const first = reduce(bare, { type: 'level', depth: 0, whole: true, loaded: { level, width: 1000, unfold: false } });
  const asks = (state: typeof first): boolean => needs(state, 1000).some(({ slot }) => slot === 'batch sizes');
  assert.ok(asks(first));
  const sizes = sizesOf(POINTS);
  const known = reduce(first, { type: 'batch sizes', sizes, asked: first.batch.asked });
  assert.ok(!asks(known));
  assert.ok(asks(reduce(first, { type: 'batch sizes', sizes: { ...sizes, profile: 'other' }, asked: first.batch.asked })));
  const changed = reduce(known, { type: 'batch sizes changed' });
  assert.ok(asks(changed) && changed.batch.answer === sizes, 'what is shown stays until the answer comes');
  // It changed once more while that answer was on its way.
  const late = reduce(reduce(changed, { type: 'batch sizes changed' }), { type: 'batch sizes', sizes, asked: changed.batch.asked });
  assert.ok(asks(late));
  assert.equal(reduce(known, { type: 'show profile', profile: 'q' }).batch.answer, undefined);
  const failed = reduce(changed, { type: 'failed', slot: 'batch sizes', message: 'no', gone: false });
  assert.ok(!asks(failed) && asks(reduce(failed, { type: 'batch sizes changed' })));
});
