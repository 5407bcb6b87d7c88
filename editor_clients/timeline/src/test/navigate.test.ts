import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandFor, COMMANDS } from '../commands/keys';
import type { Level, Track } from '../server/level_messages';
import type { Cursor } from '../state/address';
import { navigate, type Direction, type Place } from '../view/navigate';
import { underCursor } from '../view/shown';
import { levelOf, trackOf, type SimpleBlock } from './fixtures';

const STEP = levelOf(
  [
    trackOf('cpu', [
      { start: 0, duration: 10, label: 'data' },
      { start: 10, duration: 40, label: 'forward', open: true },
      { start: 50, duration: 50, label: 'backward', open: true },
    ]),
    trackOf(
      'gpu',
      [
        { start: 0, duration: 20, label: 'idle', kind: 'idle' },
        { start: 20, duration: 30, label: 'forward', open: true },
        { start: 60, duration: 40, label: 'backward', open: true },
      ],
      'device',
    ),
  ],
  [0, 100],
);
const FORWARD = levelOf(
  [
    trackOf('cpu', [
      { start: 10, duration: 5, label: 'conv1' },
      { start: 15, duration: 35, label: 'fc' },
    ]),
  ],
  [10, 50],
  { path: ['forward'] },
);
const LEVELS = [STEP, FORWARD];
const placed = (levels: readonly (Level | undefined)[], path: readonly string[]): Place[] =>
  levels.map((level, depth) => ({ depth, level, open: path[depth] }));

// "track label" after each key.
function walk(from: Cursor | undefined, ...keys: Direction[]): string {
  let cursor = from;
  for (const key of keys) cursor = navigate(placed(LEVELS, ['forward']), cursor, key) ?? cursor;
  const seen = cursor === undefined ? undefined : underCursor(LEVELS[cursor.depth]!, cursor);
  return seen === undefined ? 'nothing' : `${cursor!.depth} ${seen.track} ${seen.label}`;
}

const AT: Cursor = { depth: 0, segment: 'forward', track: 'cpu' };

test('arrows walk a track, its ends hold', () => {
  assert.equal(walk(AT, 'left'), '0 cpu data');
  assert.equal(walk(AT, 'left', 'left'), '0 cpu data');
  assert.equal(walk(AT, 'right', 'right'), '0 cpu backward');
  assert.equal(walk(AT, 'home'), '0 cpu data');
  assert.equal(walk(AT, 'end'), '0 cpu backward');
});

test('idle time is passed over', () => {
  assert.equal(walk(AT, 'down'), '0 gpu forward');
  assert.equal(walk(AT, 'down', 'left'), '0 gpu forward');
  assert.equal(walk({ depth: 0, segment: 'data', track: 'cpu' }, 'down'), '0 gpu forward');
});

test('down from the last track enters the level below, up from the first leaves to what it hangs on', () => {
  assert.equal(walk(AT, 'down', 'down'), '1 cpu conv1');
  assert.equal(walk(AT, 'down', 'down', 'right', 'down'), '1 cpu fc');
  assert.equal(walk(AT, 'down', 'down', 'up'), '0 gpu forward');
  assert.equal(walk(AT, 'up'), '0 cpu forward');
});

test('without a cursor the widest block that can be opened is taken, else the first of the deepest level', () => {
  assert.equal(walk(undefined, 'right'), '1 cpu conv1');
  const cursor = navigate(placed([STEP], []), undefined, 'down');
  assert.deepEqual([cursor?.segment, cursor?.track], ['backward', 'cpu']);
});

test("in the step the walk begins at the stage with most time on host or device, however long another's single block or an earlier step is", () => {
  const stage = (label: string, start: number, duration: number, of = label): SimpleBlock => ({
    start,
    duration,
    label,
    kind: 'stage',
    stage: of,
    open: true,
  });
  const host = trackOf('cpu', [stage('forward', 0, 10), stage('backward', 10, 14), stage('optimizer', 30, 20)]);
  const device = trackOf(
    'gpu',
    [
      stage('earlier step', 0, 50, 'earlier_step'),
      stage('forward', 50, 15),
      stage('backward', 65, 12),
      stage('backward~2', 80, 10, 'backward'),
    ],
    'device',
  );
  const begin = (...tracks: Track[]): string | undefined => navigate(placed([levelOf(tracks, [0, 100])], []), undefined, 'right')?.segment;
  assert.equal(begin(host), 'optimizer');
  assert.equal(begin(host, device), 'backward');
  assert.equal(begin(trackOf('cpu', [stage('data', 0, 40), stage('forward', 40, 10)]), device), 'data');
});

test('a cursor that has lost its block, or a level that is loading, breaks nothing', () => {
  assert.equal(walk({ depth: 0, segment: 'vanished', track: 'cpu' }, 'right'), '0 cpu backward');
  assert.equal(navigate(placed([undefined], []), undefined, 'right'), undefined);
  assert.equal(navigate(placed([levelOf([], [0, 1])], []), undefined, 'down'), undefined);
});

test('every key has one meaning, and keys with modifiers are left to the editor', () => {
  const keys = COMMANDS.flatMap((each) => [...each.keys] as string[]);
  assert.equal(new Set(keys).size, keys.length);
  const plain = { ctrlKey: false, altKey: false, metaKey: false };
  assert.equal(commandFor({ ...plain, key: 'f' }), 'fit');
  assert.equal(commandFor({ ...plain, ctrlKey: true, key: 'f' }), undefined);
  assert.equal(commandFor({ ...plain, key: 'q' }), undefined);
});
