import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf, differenceWords, judgedWords } from '../compare/difference';
import { layoutAxis, layoutPicture } from '../layout/layout';
import { nsPerPixel } from '../layout/scale';
import { marksOf } from '../levels/marks';
import type { Details } from '../server/details_messages';
import type { Block, Level } from '../server/level_messages';
import type { Overview, Span } from '../server/messages';
import type { Counterpart } from '../server/table_messages';
import { readAddress, START, writeAddress, type View } from '../state/address';
import { besidePath, counterpartKey, extentAt, isBeside } from '../state/beside';
import { reduce } from '../state/reduce';
import { initialState, type Action, type State } from '../state/state';
import { needs } from '../store/needs';
import { navigate, placesOf } from '../view/navigate';
import { inOwnTime, seenUnderCursor, shownLevels } from '../view/shown';
import { levelOf, overviewOf, random, trackOf, type SimpleBlock } from './fixtures';

const WIDTH = 1000;

const overview = (id: string, wall: number): Overview =>
  overviewOf(
    id,
    [
      [7, wall],
      [8, wall + 5],
    ],
    { profile: { id, source: `${id}.py`, created: `2026-11-0${id === 'old' ? 1 : 2}T10:00:00Z`, devices: [], guessed: false } },
  );
const PROFILES = {
  profiles: [
    { id: 'new', source: 'new.py', created: '2026-11-02T10:00:00Z' },
    { id: 'old', source: 'old.py', created: '2026-11-01T10:00:00Z' },
    { id: 'trace', source: 'x.json' },
  ],
  current: 'new',
};

const play = (state: State, ...actions: Action[]): State => actions.reduce(reduce, state);
const opened = (view: View = START): State =>
  play(initialState(view), { type: 'profiles', profiles: PROFILES }, { type: 'overview', overview: overview('new', 1000) });

const block = (label: string, start: number, duration: number): SimpleBlock => ({ label, start, duration, open: true });
const stepOf = (profile: string, from: number): Level =>
  levelOf([trackOf('cpu', [block('data', 0, from), block('forward', from, 500)])], [0, from + 600], { profile, step: 0 });
const forwardOf = (profile: string, from: number, length: number): Level =>
  levelOf([trackOf('cpu', [block('conv', from, 100), block('fc', from + 200, length - 200)])], [from, from + length], {
    profile,
    step: 0,
    path: ['forward'],
  });
const arrived = (type: 'level' | 'beside level', depth: number, level: Level): Action => ({
  type,
  depth,
  whole: true,
  loaded: { level, width: WIDTH, unfold: false },
});
const told = (path: readonly string[], counterpart: Counterpart, before = false): Action => ({
  type: 'counterpart',
  key: counterpartKey(path, before),
  counterpart,
});

// Two profiles with `forward` open in both; it begins 100 ns later in the newer one.
function pair(): State {
  return play(
    opened(),
    arrived('level', 0, stepOf('new', 400)),
    { type: 'compare', before: 'old' },
    { type: 'beside overview', overview: overview('old', 900) },
    arrived('beside level', 0, stepOf('old', 300)),
    { type: 'open', path: ['forward'] },
    arrived('level', 1, forwardOf('new', 400, 500)),
    told(['forward'], { path: ['forward'] }),
    arrived('beside level', 1, forwardOf('old', 300, 450)),
  );
}

const asked = (state: State) => needs(state, WIDTH).filter(({ slot }) => slot.startsWith('beside'));

test('of two profiles the older one is before, whichever of them is shown when they are compared', () => {
  const newer = play(opened(), { type: 'compare', before: 'old' });
  assert.deepEqual([newer.view.profile, newer.view.before], ['new', 'old']);
  const shown = play(opened({ ...START, profile: 'old' }), { type: 'compare', before: 'new' });
  assert.deepEqual([shown.view.profile, shown.view.before, shown.overview], ['new', 'old', undefined]);
  assert.match(shown.note ?? '', /older one is before/);
  const address = play(initialState({ ...START, profile: 'old', before: 'new' }), { type: 'profiles', profiles: PROFILES });
  assert.deepEqual([address.view.profile, address.view.before], ['new', 'old']);
  // A trace does not say when it was made: who chose decides.
  const trace = play(opened(), { type: 'compare', before: 'trace' });
  assert.deepEqual([trace.view.profile, trace.view.before], ['new', 'trace']);
});

test('the other profile is asked for its step, then for the blocks that are open here, and for the selected one', () => {
  const begun = play(
    opened(),
    arrived('level', 0, stepOf('new', 400)),
    { type: 'open', path: ['forward'] },
    { type: 'compare', before: 'old' },
  );
  assert.deepEqual(
    asked(begun).map(({ method, params }) => [method, params]),
    [['hotlens/timeline/overview', { profile: 'old' }]],
  );
  const known = play(begun, { type: 'beside overview', overview: overview('old', 900) });
  const of = { profile: 'new', step: 0, other: 'old', otherStep: 0, side: 'after' };
  assert.deepEqual(
    asked(known).map(({ method, params }) => [method, params]),
    [
      ['hotlens/timeline/level', { profile: 'old', step: 0, path: [], width: WIDTH }],
      ['hotlens/timeline/counterpart', { ...of, path: ['forward'] }],
    ],
  );
  const there = play(known, told(['forward'], { path: ['train', 'forward'] }));
  assert.deepEqual(
    asked(there).map(({ params }) => (params as { path: unknown }).path),
    [[], ['train', 'forward'], ['train', 'forward']],
  );
  const absent = play(known, told(['forward'], {}));
  assert.equal(besidePath(absent, 1), null);
  assert.deepEqual(
    asked(absent).map(({ params }) => (params as { path: unknown }).path),
    [[]],
  );
});

test('both timelines share one axis: the same time a pixel, steps laid on each other at their start, blocks at theirs', () => {
  const state = pair();
  const shown = shownLevels(state, WIDTH);
  const { levels } = layoutPicture(shown, 1160);
  assert.deepEqual(
    levels.map(({ depth, pair }) => [depth, pair?.side]),
    [
      [0, 'before'],
      [0, 'after'],
      [1, 'before'],
      [1, 'after'],
    ],
  );
  for (const depth of [0, 1]) {
    const [before, after] = levels.filter((level) => level.depth === depth);
    assert.equal(nsPerPixel(before!.scale), nsPerPixel(after!.scale));
    assert.deepEqual(before!.scale.view, after!.scale.view);
    assert.ok(before!.tracksBottom < after!.titleTop && after!.tracksTop - after!.titleTop < after!.tracksTop - before!.tracksTop);
  }
  assert.deepEqual(levels[0]!.scale.view, [0, 1000]); // the longer of both
  const starts = levels.slice(2).map(({ level }) => level!.tracks[0]!.blocks.start[0]);
  assert.deepEqual(starts, [400, 400]);
  const { ticks } = layoutAxis(levels[2]!.scale, levels[2]!.pair!.origin);
  assert.equal(ticks[0]!.ns, 0, "the axis counts from the block's start");
});

test('zooming and panning go beyond the shorter one, and the upper part is asked for in its own time', () => {
  const state = pair();
  assert.deepEqual(extentAt(state, 0), [0, 1000]);
  const longer = play(state, arrived('beside level', 0, stepOf('old', 2000)), arrived('beside level', 1, forwardOf('old', 300, 900)));
  assert.deepEqual(
    [extentAt(longer, 0), extentAt(longer, 1)],
    [
      [0, 2600],
      [400, 1300],
    ],
  );
  const coarse = levelOf([trackOf('cpu', [{ ...block('data', 0, 300), kind: 'merged', count: 9 }])], [0, 900], { profile: 'old', step: 0 });
  const zoomed = play(state, arrived('beside level', 0, coarse), { type: 'zoom', depth: 0, span: [100, 200] });
  const part = asked(zoomed).find(({ slot }) => slot === 'beside level 0');
  assert.deepEqual(part?.params, { profile: 'old', step: 0, path: [], from: 50, to: 250, width: 2000 });
  const deeper = levelOf([trackOf('cpu', [{ ...block('conv', 300, 300), kind: 'merged', count: 9 }])], [300, 750], {
    profile: 'old',
    step: 0,
    path: ['forward'],
  });
  const inside = play(state, arrived('beside level', 1, deeper), { type: 'zoom', depth: 1, span: [500, 600] });
  const below = asked(inside).find(({ slot }) => slot === 'beside level 1');
  assert.deepEqual(below?.params, { profile: 'old', step: 0, path: ['forward'], from: 350, to: 550, width: 2000 });
  // Alone the view has to lie within the shown level again.
  const beyond = play(state, { type: 'zoom', depth: 1, span: [850, 950] });
  assert.equal(play(beyond, { type: 'alone', alone: true }).view.zooms[1]?.[1], 900);
});

test('a range of time is added up in both, each in its own time', () => {
  const chosen = play(pair(), { type: 'range', depth: 1, span: [500, 600] });
  const ranges = needs(chosen, WIDTH).filter(({ method }) => method === 'hotlens/timeline/range');
  assert.deepEqual(
    ranges.map(({ params }) => params),
    [
      { profile: 'new', step: 0, path: ['forward'], from: 500, to: 600 },
      { profile: 'old', step: 0, path: ['forward'], from: 400, to: 500 },
    ],
  );
  const sums = { from: 400, to: 500, device: 0, tracks: [], kernels: [], operators: [] };
  const known = play(chosen, ranges[1]!.done(sums as never));
  assert.deepEqual([known.range?.before, known.range?.sums], [sums, undefined]);
  assert.equal(play(known, { type: 'compare' }).range, undefined);
});

test('arrows walk from one timeline to the other, and a block of either is selected where it stands', () => {
  const state = pair();
  const places = placesOf(shownLevels(state, WIDTH));
  const at = navigate(places, { depth: 1, segment: 'fc', track: 'cpu' }, 'up');
  assert.deepEqual([at?.segment, at?.before], ['fc', ['forward']]);
  assert.deepEqual(navigate(places, at, 'down')?.before, undefined);
  const above = navigate(places, at, 'up');
  assert.deepEqual([above?.depth, above?.segment, above?.before], [0, 'forward', undefined]);
  const selected = play(state, { type: 'move', cursor: at! });
  const seen = seenUnderCursor(selected, WIDTH)!;
  assert.deepEqual([seen.start, inOwnTime(selected, 1, seen).start], [600, 500]);
  const own = needs(selected, WIDTH).find(({ slot }) => slot === 'details');
  assert.deepEqual(own?.params, { profile: 'old', step: 0, path: ['forward', 'fc'] });
  const known = play(selected, told(['forward', 'fc'], { path: ['forward', 'fc'] }, true));
  assert.deepEqual(marksOf(known, undefined).partner, { depth: 1, before: false, segment: 'fc' });
  const again = readAddress(writeAddress(selected.view));
  assert.deepEqual(again.cursor, { depth: 1, segment: 'fc', track: 'cpu', before: ['forward'] });
  assert.equal(play(selected, { type: 'compare' }).view.cursor, undefined, 'it stands in no timeline any more');
});

test('one of both is drawn where that is wanted, and in the recording; the address says so', () => {
  const alone = play(pair(), { type: 'alone', alone: true });
  assert.equal(isBeside(alone.view), false);
  assert.equal(shownLevels(alone, WIDTH).length, 2);
  assert.equal(readAddress(writeAddress(alone.view)).alone, true);
  assert.equal(isBeside(play(alone, { type: 'alone', alone: false }).view), true);
  assert.equal(isBeside(play(pair(), { type: 'show recording' }).view), false);
});

test('another step of the same profile stands above as well, and keeps its place when steps go on', () => {
  const state = play(opened(), arrived('level', 0, stepOf('new', 400)), { type: 'compare', step: 1 });
  assert.deepEqual(
    asked(state).map(({ params }) => params),
    [
      { profile: 'new', step: 1, path: [], width: WIDTH },
      { profile: 'new', step: 0, path: [], other: 'new', otherStep: 1, side: 'after' },
    ],
  );
  assert.match(shownLevels(state, WIDTH)[0]!.title, /^before · step 8 · 1.00 µs$/);
});

const BLOCK: Block = { label: 'fc', kind: 'module', stage: 'forward', direction: 0, path: [], start: 0, duration: 0, count: 1 };
const detailsOf = (profile: string, cpuTotal: number, path = ['forward', 'fc']): Details => ({
  ...BLOCK,
  profile,
  step: 0,
  path,
  calls: 1,
  share: 0,
  times: { cpuTotal },
  kernels: [],
  places: [],
});

test('the difference is what the diff judges where it has a row for the block, else what is drawn', () => {
  const cursor = { depth: 1, segment: 'fc' };
  const both = play(
    pair(),
    { type: 'move', cursor },
    { type: 'details', details: detailsOf('new', 12_400_000) },
    { type: 'beside details', details: detailsOf('old', 11_300_000) },
  );
  assert.equal(differenceOf(both), undefined, 'it is not known which block it is there');
  const drawn = play(both, told(['forward', 'fc'], { path: ['forward', 'fc'] }));
  assert.equal(differenceWords(differenceOf(drawn)), 'fc: 12.4 ms, before 11.3 ms, +1.10 ms in these steps');
  const judged = { of: 'module', change: 'same', before: 33_000_000, after: 33_200_000, noise: 900_000 } as const;
  const within = play(both, told(['forward', 'fc'], { path: ['forward', 'fc'], judged }));
  assert.equal(
    differenceWords(differenceOf(within)),
    'fc, all steps, forward and backward: 33.2 ms, before 33.0 ms, +200 µs, within the noise of ±900 µs',
  );
  const added = play(both, told(['forward', 'fc'], {}));
  assert.equal(differenceWords(differenceOf(added)), 'fc: before there is no such block');
  const above = play(
    pair(),
    { type: 'move', cursor: { ...cursor, before: ['forward'] } },
    { type: 'details', details: detailsOf('old', 5) },
    told(['forward', 'fc'], {}, true),
  );
  assert.equal(differenceWords(differenceOf(above)), 'fc: after there is no such block');
});

test('a change says its noise, and is none within it', () => {
  const words = [
    judgedWords({ of: 'module', change: 'slower', before: 10_000_000, after: 11_000_000, noise: 300_000 }),
    judgedWords({ of: 'module', change: 'faster', before: 10_000_000, after: 9_000_000 }),
    judgedWords({ of: 'module', change: 'same', before: 5, after: 5, noise: 1 }),
    judgedWords({ of: 'module', change: 'added', after: 5 }),
  ];
  assert.deepEqual(words, ['+1.00 ms (+10 %); noise ±300 µs', '−1.00 ms (−10 %)', 'the same', 'added']);
});

test('whatever is done, the upper levels are those of the open blocks, and no cursor stands in a timeline that is not drawn', () => {
  for (let seed = 1; seed <= 150; seed++) {
    const next = random(seed);
    const pick = <T>(...values: T[]): T => values[Math.floor(next() * values.length)]!;
    let state = pair();
    for (let round = 0; round < 50; round++) {
      const depth = Math.floor(next() * (state.view.path.length + 1));
      const upper = isBeside(state.view) && pick(true, false);
      const cursor = {
        depth,
        segment: pick('conv', 'forward', ''),
        track: 'cpu',
        start: 0,
        ...(upper ? { before: ['forward'].slice(0, depth) } : {}),
      };
      state = reduce(
        state,
        pick<Action>(
          { type: 'open', path: pick([], ['forward'], ['forward', 'conv'], ['backward']) },
          { type: 'close', depth },
          { type: 'move', cursor },
          { type: 'compare', ...pick<object>({}, { before: 'old' }, { before: 'trace' }, { step: 1 }) },
          { type: 'alone', alone: pick(true, false) },
          { type: 'show step', step: pick(0, 1) },
          { type: 'show recording' },
          { type: 'unfold' },
          { type: 'zoom', depth, span: pick<Span>([1, 2], [800, 950], [5000, 6000]) },
          { type: 'changed' },
          { type: 'profiles', profiles: pick(PROFILES, { ...PROFILES, profiles: PROFILES.profiles.slice(0, 1) }) },
          { type: 'overview', overview: overview('new', 1000) },
          { type: 'beside overview', overview: overview('old', 900) },
          told(['forward'], pick({}, { path: ['forward'] }, { path: ['train', 'forward'] })),
          arrived('level', 0, stepOf('new', 400)),
          arrived('beside level', 0, stepOf('old', 300)),
          arrived('beside level', 1, forwardOf('old', 300, 450)),
        ),
      );
      const where = `seed ${seed} round ${round}`;
      assert.ok(state.beside.levels.length <= state.view.path.length + 1, where);
      assert.ok(isBeside(state.view) || state.view.cursor?.before === undefined, where);
      needs(state, WIDTH);
      const picture = layoutPicture(shownLevels(state, WIDTH), 1160);
      assert.ok(
        picture.levels.every(({ scale }) => scale.view[0] < scale.view[1]),
        where,
      );
    }
  }
});
