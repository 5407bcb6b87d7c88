import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leadFurther } from '../levels/lead';
import type { Level } from '../server/level_messages';
import { isOpenEnded, START, writeAddress } from '../state/address';
import { reduce } from '../state/reduce';
import { initialState, type Action, type State } from '../state/state';
import { levelOf, trackOf } from './fixtures';

const STEP = levelOf(
  [
    trackOf('cpu', [
      { start: 0, duration: 30, label: 'forward', open: true },
      { start: 30, duration: 60, label: 'backward', open: true },
    ]),
  ],
  [0, 100],
);
const BACKWARD = levelOf([trackOf('cpu', [{ start: 30, duration: 50, label: 'net', open: true }])], [30, 90], { path: ['backward'] });
const SMALL = levelOf(
  [
    trackOf(
      'cpu',
      Array.from({ length: 20 }, (_, index) => ({ start: 30 + index * 3, duration: 2, label: `part${index}`, open: true })),
    ),
  ],
  [30, 90],
  { path: ['backward'] },
);

function begun(...levels: readonly Level[]): State {
  const start = initialState(START, undefined, true);
  return levels.reduce<State>((state, level, depth) => {
    const opened = depth === 0 ? state : reduce(state, { type: 'lead', path: level.path });
    return reduce(opened, { type: 'level', depth, whole: true, loaded: { level, width: 1000, unfold: false } });
  }, start);
}

const HIGH = 2000;

test('the page opens what takes most time, level by level', () => {
  assert.equal(leadFurther(initialState(START, undefined, true), 1000, HIGH), undefined, 'nothing has arrived');
  assert.deepEqual(leadFurther(begun(STEP), 1000, HIGH), ['backward']);
  assert.deepEqual(leadFurther(begun(STEP, BACKWARD), 1000, HIGH), ['backward', 'net']);
});

test('it ends where the pane is full, and where no block has much of the time', () => {
  assert.equal(leadFurther(begun(STEP), 1000, 150), undefined);
  assert.equal(leadFurther(begun(STEP, SMALL), 1000, HIGH), undefined);
});

test('a level opens beside the tracks of the step whatever stands below them; for further ones room is left', () => {
  const counter = {
    id: 'queue',
    name: 'queued',
    unit: 'launches',
    start: [0],
    least: [0],
    most: [1],
    length: 9,
    peak: { time: 0, value: 1 },
  } as const;
  const lanes = { profile: 'p', step: 0, window: [0, 9], pixel: 1, threads: [], moreThreads: 0, counters: [counter, counter] } as const;
  const loaded = { lanes, window: { from: 0, to: 9, width: 9 }, open: [] };
  const [one, two] = [begun(STEP), begun(STEP, BACKWARD)];
  const enough = Array.from({ length: 90 }, (_, at) => at * 10);
  const least = (state: State): number => enough.find((height) => leadFurther(state, 1000, height) !== undefined)!;
  assert.equal(least(reduce(one, { type: 'lanes', loaded })), least(one));
  const bare = reduce(two, { type: 'lanes', loaded: { ...loaded, lanes: { ...lanes, counters: [] } } });
  assert.ok(least(reduce(two, { type: 'lanes', loaded })) > least(bare));
  assert.ok(least(two) > least(bare), 'no room is left for what is not known yet');
});

test('a row of the critical path is no reason to open less, another track is', () => {
  const extra = (kind: 'path' | 'device'): Level => ({ ...STEP, tracks: [...STEP.tracks, { ...STEP.tracks[0]!, id: 'extra', kind }] });
  const enough = Array.from({ length: 900 }, (_, at) => at);
  const least = (level: Level): number => enough.find((height) => leadFurther(begun(level), 1000, height) !== undefined)!;
  assert.equal(least(extra('path')), least(STEP));
  assert.ok(least(extra('device')) > least(STEP));
});

test('whoever chooses something is left alone', () => {
  const choices: readonly Action[] = [
    { type: 'open', path: ['forward'] },
    { type: 'close', depth: 0 },
    { type: 'zoom', depth: 0, span: [0, 10] },
    { type: 'show step', step: 0 },
  ];
  for (const choice of choices) assert.equal(reduce(begun(STEP), choice).leading, false, choice.type);
  assert.equal(reduce(begun(STEP), { type: 'note', note: 'x' }).leading, true);
  assert.equal(leadFurther(reduce(begun(STEP), { type: 'move', cursor: { depth: 0, segment: 'forward' } }), 1000, HIGH), undefined);
});

test('an address that says what is open is followed, also where that is nothing', () => {
  assert.equal(isOpenEnded(''), true);
  assert.equal(isOpenEnded('#profile=p&step=1'), true);
  for (const said of ['path=', 'path=backward', 'at=forward', 'from=1&to=2', 'range=0,1,2', 'step=all'])
    assert.equal(isOpenEnded(said), false, said);
  assert.equal(isOpenEnded(writeAddress({ ...START, profile: 'p', step: 1 })), false);
});
