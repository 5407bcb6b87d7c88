import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf } from '../commands/point';
import type { Place } from '../server/details_messages';
import type { Overview, Span } from '../server/messages';
import type { Transport } from '../server/transport';
import { readAddress, readChosen, RECORDING, START, writeAddress, type View } from '../state/address';
import { isComparing } from '../state/beside';
import { reduce } from '../state/reduce';
import { idleUnder, initialState, moduleKey, selectedPath, type Action, type State } from '../state/state';
import { isFine, windowFor } from '../store/need';
import { needs } from '../store/needs';
import { createStore } from '../store/store';
import { levelOf, overviewOf, random, trackOf } from './fixtures';

const OVERVIEW: Overview = overviewOf(
  'p',
  [0, 1, 2].map((index) => [index, 10] as const),
  { representative: 1, p10: 9, p90: 11 },
);
const PROFILES = {
  profiles: [
    { id: 'p', source: 'train.py' },
    { id: 'old', source: 'old.py' },
  ],
  current: 'p',
};

const play = (state: State, ...actions: Action[]): State => actions.reduce(reduce, state);
const overviewAs = (id: string): Overview => ({ ...OVERVIEW, profile: { ...OVERVIEW.profile, id } });
function opened(view: View = START): State {
  const listed = play(initialState(view), { type: 'profiles', profiles: PROFILES });
  return play(listed, { type: 'overview', overview: overviewAs(listed.view.profile!) });
}

function loaded(depth: number, path: readonly string[], width = 1000): Action {
  const track = trackOf('cpu', [{ start: 0, duration: 1000, label: path[0] ?? 'forward', open: true }]);
  return { type: 'level', depth, whole: true, loaded: { level: levelOf([track], [0, 1000], { path, step: 1 }), width, unfold: false } };
}

test('the current profile and its representative step are shown when nothing else was asked for', () => {
  const state = opened();
  assert.equal(state.view.profile, 'p');
  assert.equal(state.view.step, 1);
});

test('an address that names an older profile and step is followed', () => {
  const state = opened({ ...START, profile: 'old', step: 2 });
  assert.deepEqual([state.view.profile, state.view.step], ['old', 2]);
});

test('an address without a profile keeps its step and what it compares with', () => {
  const state = opened({ ...START, step: 2, before: 'old' });
  assert.deepEqual([state.view.profile, state.view.step, state.view.before], ['p', 2, 'old']);
  assert.equal(opened({ ...START, before: 'vanished' }).view.before, undefined);
});

test('a profile that is gone gives way to the current one, and that is said', () => {
  const state = opened({ ...START, profile: 'vanished', step: 0, path: ['forward'] });
  assert.equal(state.view.profile, 'p');
  assert.match(state.note ?? '', /gone/);
});

test('who looks at the current profile goes on to the next one; who looks at an older one stays', () => {
  const newer = { profiles: [{ id: 'new', source: 'train.py' }, ...PROFILES.profiles], current: 'new' };
  const following = play(opened(), { type: 'open', path: ['forward'] }, { type: 'changed' }, { type: 'profiles', profiles: newer });
  assert.deepEqual([following.view.profile, following.view.path, following.overview], ['new', ['forward'], undefined]);
  const staying = play(opened({ ...START, profile: 'old' }), { type: 'changed' }, { type: 'profiles', profiles: newer });
  assert.equal(staying.view.profile, 'old');
  assert.ok(staying.overview !== undefined);
});

test('a profile that was replaced under its name is read again', () => {
  const [first, ...rest] = PROFILES.profiles;
  const replaced = { ...PROFILES, profiles: [{ ...first!, stepNs: 99 }, ...rest] };
  assert.equal(play(opened(), { type: 'changed' }, { type: 'profiles', profiles: replaced }).overview, undefined);
  assert.ok(play(opened(), { type: 'changed' }, { type: 'profiles', profiles: PROFILES }).overview !== undefined);
  const written = (at?: number): Action => ({
    type: 'profiles',
    profiles: { ...PROFILES, profiles: [{ ...first!, ...(at === undefined ? {} : { written: at }) }, ...rest] },
  });
  const shown = play(opened(), { type: 'changed' }, written(5), { type: 'overview', overview: OVERVIEW });
  assert.ok(play(shown, { type: 'changed' }, written(5)).overview !== undefined);
  assert.ok(play(shown, { type: 'changed' }, written()).overview !== undefined, 'what vanished stays');
  assert.equal(play(shown, { type: 'changed' }, written(6)).overview, undefined);
});

test('opening a block above drops the levels below it; closing leaves the cursor on what was open', () => {
  let state = play(opened(), loaded(0, []), { type: 'open', path: ['forward'] }, loaded(1, ['forward']), {
    type: 'open',
    path: ['forward', 'layer1'],
  });
  state = play(state, loaded(2, ['forward', 'layer1']), { type: 'zoom', depth: 2, span: [10, 20] });
  const other = play(state, { type: 'open', path: ['backward'] });
  assert.deepEqual([other.view.path, other.levels.length, other.view.zooms.length], [['backward'], 1, 1]);
  const up = play(state, { type: 'close', depth: 1 });
  assert.deepEqual([up.view.path, selectedPath(up.view)], [['forward'], ['forward', 'layer1']]);
  assert.equal(up.levels.length, 2);
});

test('a block chosen elsewhere opens its parent and stands under the cursor; levels that are open stay', () => {
  const deep = play(opened(), { type: 'open', path: ['forward', 'layer1', '0'] });
  const near = play(deep, { type: 'go', path: ['forward', 'layer2'] });
  assert.deepEqual(
    [near.view.path, selectedPath(near.view)],
    [
      ['forward', 'layer1', '0'],
      ['forward', 'layer2'],
    ],
  );
  const far = play(deep, { type: 'go', path: ['backward', 'loss'] });
  assert.deepEqual([far.view.path, selectedPath(far.view)], [['backward'], ['backward', 'loss']]);
  const otherStep = play(deep, { type: 'go', profile: 'p', step: 2, path: ['forward', 'fc'] });
  assert.deepEqual([otherStep.view.step, otherStep.view.path, otherStep.levels.length], [2, ['forward'], 0]);
});

test('answers that nobody waits for change nothing', () => {
  const state = play(opened(), loaded(0, []), { type: 'open', path: ['forward'] });
  assert.equal(play(state, loaded(1, ['backward'])), state);
  assert.equal(play(state, loaded(5, ['a', 'b', 'c', 'd', 'e'])), state);
  const later = play(state, { type: 'show step', step: 0 });
  assert.equal(play(later, loaded(0, [])), later);
});

test('a path from an old address that leads nowhere ends at the level that exists', () => {
  const state = play(opened({ ...START, path: ['forward', 'gone', 'x'] }), {
    type: 'failed',
    slot: 'level 2',
    message: 'no such block',
    gone: true,
    depth: 2,
  });
  assert.deepEqual(state.view.path, ['forward']);
  assert.match(state.note ?? '', /does not exist/);
});

test('profiles, overview and every open level are asked for at once, then the details, each once', () => {
  const start = initialState({ ...START, path: ['forward'] });
  assert.deepEqual(
    needs(start, 800).map(({ slot }) => slot),
    ['profiles', 'overview', 'level 0', 'level 1'],
  );
  assert.deepEqual(needs(start, 800).at(-1)?.params, { path: ['forward'], width: 800 });
  assert.deepEqual(needs(initialState({ ...START, profile: 'old', step: 2 }), 800).at(-1)?.params, {
    profile: 'old',
    step: 2,
    path: [],
    width: 800,
  });
  const known = play(start, { type: 'profiles', profiles: PROFILES }, { type: 'overview', overview: OVERVIEW });
  assert.deepEqual(
    needs(known, 800).map(({ slot }) => slot),
    ['level 0', 'level 1'],
  );
  const drawn = play(known, loaded(0, []), loaded(1, ['forward']));
  const slots = needs(drawn, 800).map(({ slot }) => slot);
  assert.ok(slots.includes('details') && !slots.some((slot) => slot.startsWith('level')));
});

test('the first answers are taken in any order, and say what they are about', () => {
  const answers: Action[] = [{ type: 'profiles', profiles: PROFILES }, { type: 'overview', overview: OVERVIEW }, loaded(0, [])];
  for (const [a, b, c] of [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ] as const) {
    const state = play(initialState(START), answers[a]!, answers[b]!, answers[c]!);
    assert.deepEqual(
      [state.view.profile, state.view.step, state.levels.length, state.overview?.profile.id],
      ['p', 1, 1, 'p'],
      `${a}${b}${c}`,
    );
    assert.ok(
      needs(state, 800).every(({ slot }) => !/profiles|overview|level/.test(slot)),
      `${a}${b}${c}`,
    );
  }
});

test('answers about another profile or step than the one that is wanted come too late', () => {
  const wanted = initialState({ ...START, profile: 'old', step: 2 });
  assert.equal(play(wanted, loaded(0, [])), wanted);
  assert.equal(play(wanted, { type: 'overview', overview: OVERVIEW }), wanted);
});

test('where there is no profile nothing else is asked for until there is one', () => {
  const failed: Action = { type: 'failed', slot: 'overview', message: 'no profile', gone: true };
  const none = play(initialState(START), failed, { type: 'changed' }, { type: 'profiles', profiles: { profiles: [] } });
  assert.deepEqual(needs(none, 800), []);
  const later = play(none, { type: 'changed' }, { type: 'profiles', profiles: PROFILES });
  assert.deepEqual(
    needs(later, 800).map(({ slot }) => slot),
    ['overview', 'level 0'],
  );
});

test('an old address of a profile that is gone keeps its path for the current one', () => {
  const start = initialState({ ...START, profile: 'vanished', path: ['forward'] });
  const gone = (slot: string, depth?: number): Action => ({
    type: 'failed',
    slot,
    message: 'gone',
    gone: true,
    ...(depth === undefined ? {} : { depth }),
  });
  const state = play(start, gone('overview'), gone('level 1', 1), { type: 'profiles', profiles: PROFILES });
  assert.deepEqual([state.view.profile, state.view.path], ['p', ['forward']]);
  assert.deepEqual(
    needs(state, 800).map(({ slot }) => slot),
    ['overview', 'level 0', 'level 1'],
  );
});

test('what failed is not asked for again before something changes', () => {
  const failed = play(opened(), { type: 'failed', slot: 'level 0', message: 'broken', gone: false });
  assert.deepEqual(
    needs(failed, 800).filter(({ slot }) => slot === 'level 0'),
    [],
  );
  const moved = play(failed, { type: 'move', cursor: { depth: 0, segment: 'forward' } });
  assert.equal(needs(moved, 800).filter(({ slot }) => slot === 'level 0').length, 1);
});

test('a level without merged blocks is never asked for again by zooming; one with merged blocks is, as fine as the screen', () => {
  const merged = trackOf('cpu', [{ start: 0, duration: 10, label: 'many', kind: 'merged', count: 9 }]);
  const clear = trackOf('cpu', [{ start: 0, duration: 10, label: 'one' }]);
  const coarse = { level: levelOf([merged], [0, 1000]), width: 1000, unfold: false };
  assert.ok(isFine({ ...coarse, level: levelOf([clear], [0, 1000]) }, [10, 11], 1000));
  assert.ok(isFine(coarse, [0, 1000], 1000));
  assert.ok(!isFine(coarse, [0, 500], 1000));
  assert.ok(!isFine(undefined, [0, 500], 1000));
});

test('a window holds the view with a margin, within the extent, as dense as the screen', () => {
  const next = random(3);
  for (let round = 0; round < 500; round++) {
    const extent: Span = [Math.floor(next() * 1000), 1000 + Math.floor(next() * 1e9)];
    const from = extent[0] + next() * (extent[1] - extent[0]) * 0.9;
    const view: Span = [from, from + Math.max(20, next() * (extent[1] - from))];
    const width = 1 + Math.floor(next() * 4000);
    const asked = windowFor(view, extent, width);
    assert.ok(asked.from <= view[0] && asked.to >= Math.min(view[1], extent[1]) && asked.from >= extent[0] && asked.to <= extent[1]);
    assert.ok(asked.width >= 1 && asked.width <= 8192);
    const density = asked.width / (asked.to - asked.from);
    if (asked.width < 8192) assert.ok(density >= (0.999 * width) / (view[1] - view[0]));
  }
});

test('an address restores what was shown, whatever the names hold', () => {
  const view: View = {
    profile: 'a b&c=/#',
    step: 3,
    path: ['forward', 'lay/er 1', 'ü<script>'],
    unfold: true,
    before: 'old',
    zooms: [undefined, [5, 90], undefined, [100, 250]],
    cursor: { depth: 2, segment: 'ü<script>', track: 'cpu 1' },
  };
  const { zooms, ...rest } = readAddress(`#${writeAddress(view)}`);
  const { zooms: expected, ...same } = view;
  assert.deepEqual(rest, same);
  assert.deepEqual(
    zooms.map((zoom) => zoom ?? null),
    expected.map((zoom) => zoom ?? null),
  );
});

test('an address that was cut or made up is read as far as it makes sense', () => {
  for (const text of ['', '#', '#path=%E0%A4%A', '#step=-4&from=9&to=3', '#zoom=1,2&at=a/b/c', '#step=x']) {
    const view = readAddress(text);
    assert.equal(view.step, undefined, text);
    assert.equal(view.cursor, undefined, text);
    assert.ok(
      view.zooms.every((zoom) => zoom === undefined),
      text,
    );
  }
});

test('random actions leave a state that the page can draw', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const pick = <T>(...values: T[]): T => values[Math.floor(next() * values.length)]!;
    const path = (): string[] => Array.from({ length: Math.floor(next() * 4) }, () => pick('a', 'b', 'c'));
    let state = opened();
    for (let round = 0; round < 60; round++) {
      const depth = Math.floor(next() * (state.view.path.length + 1));
      const at = path();
      state = reduce(
        state,
        pick<Action>(
          { type: 'open', path: at },
          { type: 'close', depth },
          { type: 'go', path: at, step: pick(0, 1, 2) },
          { type: 'zoom', depth, span: [1, 2] },
          { type: 'zoom', depth },
          loaded(at.length, at),
          { type: 'show step', step: pick(0, 1, 2) },
          { type: 'unfold' },
          { type: 'range', depth, span: [3, 4] },
          { type: 'changed' },
          { type: 'profiles', profiles: PROFILES },
          { type: 'failed', slot: `level ${depth}`, message: 'no', gone: next() < 0.5, depth },
          { type: 'overview', overview: OVERVIEW },
        ),
      );
      const { view } = state;
      assert.ok(state.levels.length <= view.path.length + 1 && view.zooms.length <= view.path.length + 1, `seed ${seed} round ${round}`);
      assert.ok(view.cursor === undefined || view.cursor.depth <= view.path.length, `seed ${seed} round ${round}: cursor`);
      assert.ok(state.range === undefined || state.range.depth <= view.path.length, `seed ${seed} round ${round}: range`);
      state.levels.forEach((data, at) =>
        assert.deepEqual(data?.whole?.level.path ?? view.path.slice(0, at), view.path.slice(0, at), `seed ${seed}`),
      );
    }
  }
});

test('arrows are asked for by window where a block has more than an answer holds', () => {
  const device: Overview = { ...OVERVIEW, hasDevice: true };
  const at = (zooms: readonly (Span | undefined)[]): View => ({ ...START, zooms, cursor: { depth: 0, segment: 'forward' } });
  const listed = (view: View): State =>
    play(initialState(view), { type: 'profiles', profiles: PROFILES }, { type: 'overview', overview: device }, loaded(0, []));
  const asked = (state: State) =>
    needs(state, 1000).find(({ slot }) => slot === 'arrows')?.params as { from?: number; to?: number } | undefined;
  const answer = (total: number, window?: Span): Action => ({
    type: 'arrows',
    path: ['forward'],
    ...(window === undefined ? {} : { window }),
    arrows: {
      total,
      arrows: Array.from({ length: Math.min(total, 2) }, () => ({
        launchTrack: 'a',
        launch: 1,
        deviceTrack: 'b',
        start: 2,
        end: 3,
        name: 'k',
        delay: 1,
      })),
    },
  });
  assert.equal(asked(listed(at([])))?.from, undefined);
  const [few, many] = [play(listed(at([])), answer(2)), play(listed(at([])), answer(50))];
  assert.equal(asked(few) ?? asked(many), undefined);
  const zoom: Action = { type: 'zoom', depth: 0, span: [400, 500] };
  assert.equal(asked(play(few, zoom)), undefined, 'all of them are known');
  const inside = asked(play(many, zoom))!;
  assert.deepEqual([inside.from, inside.to], [350, 550]);
  const zoomed = play(many, zoom, answer(50, [350, 550]));
  assert.equal(asked(zoomed), undefined);
  assert.ok(asked(play(zoomed, { type: 'zoom', depth: 0, span: [540, 600] })) !== undefined, 'panned out of the window');
  assert.ok(asked(play(zoomed, { type: 'zoom', depth: 0 })) !== undefined, 'the whole block again');
  for (const odd of [
    [-1e9, 1e9],
    [5000, 6000],
    [-5, 20],
  ] as Span[]) {
    const state = listed(at([odd]));
    const params = asked(state);
    const window: Span | undefined = params?.from === undefined ? undefined : [params.from, params.to!];
    assert.equal(asked(play(state, answer(50, window))), undefined, `asks for ever at ${odd}`);
  }
});

test('who rests on a block is told its details once; a failure there hides nothing and ends with the next block', () => {
  const state = play(opened(), loaded(0, []), { type: 'point', on: { path: ['forward'] } });
  const asked = (from: State) => needs(from, 1000).find(({ slot }) => slot === 'pointed');
  assert.deepEqual(asked(state)!.params, { profile: 'p', step: 1, path: ['forward'] });
  const details = { ...levelOf([], [0, 1]).block, path: ['forward'], calls: 1, share: 1, times: {}, kernels: [], places: [] };
  const known = play(state, { type: 'pointed', details }, { type: 'point', on: { path: ['forward'] } });
  assert.equal(known.pointed?.details, details);
  assert.equal(asked(known), undefined);
  const failed = play(state, { type: 'failed', slot: 'pointed', message: 'no', gone: false });
  assert.equal(asked(failed), undefined);
  assert.notEqual(asked(play(failed, { type: 'point', on: { path: ['backward'] } })), undefined);
  assert.equal(play(known, { type: 'show step', step: 2 }).pointed, undefined);
});

test('a chosen range comes back from the address where its level is open', () => {
  const view: View = { ...START, path: ['forward'], zooms: [undefined, undefined] };
  const chosen = { depth: 1, span: [10.4, 20.6] as Span };
  const text = writeAddress(view, chosen);
  assert.deepEqual(readChosen(text, readAddress(text)), { depth: 1, span: [10, 21] });
  assert.deepEqual(initialState(view, chosen).range, chosen);
  for (const odd of ['range=2,1,5', 'range=-1,1,5', 'range=1,5,1', 'range=1', 'range=x,1,5', 'range=1,a,b', ''])
    assert.equal(readChosen(`path=forward&${odd}`, view), undefined, odd);
});

test('two steps of one profile are asked for side by side, kept in the address, and never a step beside itself', () => {
  const state = play(opened(), loaded(0, []), { type: 'compare', step: 2 });
  const asked = (from: State) =>
    needs(from, 1000)
      .filter(({ slot }) => slot.startsWith('compare'))
      .map(({ params }) => params);
  assert.deepEqual(asked(state), [{ before: 'p', after: 'p', beforeStep: 2, afterStep: 1 }]);
  const comparison = { step: { change: 'same' as const }, rows: [], before: PROFILES.profiles[0]!, after: PROFILES.profiles[0]! };
  const known = play(state, { type: 'comparison', key: moduleKey(), comparison }, { type: 'expand', module: 'a' });
  assert.deepEqual(asked(known), [{ before: 'p', after: 'p', beforeStep: 2, afterStep: 1, module: 'a' }]);
  assert.equal(readAddress(writeAddress(known.view)).beforeStep, 2);
  const moved = play(known, { type: 'show step', step: 0 });
  assert.deepEqual(asked(moved)[0], { before: 'p', after: 'p', beforeStep: 2, afterStep: 0 });
  const beside = play(moved, { type: 'show step', step: 2 });
  assert.equal(isComparing(beside.view), false);
  assert.equal(isComparing(play(state, { type: 'compare', step: 1 }).view), false);
  const profiles = play(known, { type: 'compare', before: 'old' });
  assert.equal(profiles.view.beforeStep, undefined);
  assert.deepEqual(asked(profiles), [{ before: 'old', after: 'p' }]);
  assert.equal(readAddress('before=old&beforeStep=1').beforeStep, undefined);
});

test('what is pointed at is highlighted where it is made and called, its class only for want of better, and nothing once the pointer has left', () => {
  const place = (what: Place['what'], line: number): Place => ({
    what,
    file: '/m.py',
    line,
    endLine: line + 2,
    function: '',
    text: [],
    firstLine: 0,
    guessed: false,
    workspace: true,
  });
  const details = {
    ...levelOf([], [0, 1]).block,
    path: ['forward'],
    calls: 1,
    share: 1,
    times: {},
    kernels: [],
    places: [place('definition', 5), place('class', 1), place('call', 9)],
  };
  const resting = play(opened(), loaded(0, []), { type: 'point', on: { path: ['forward'], place: { file: '/m.py', line: 5 } } });
  assert.deepEqual(linesOf(resting.pointed), []); // its block knows more
  const known = play(resting, { type: 'pointed', details });
  assert.deepEqual(linesOf(known.pointed), [
    { file: '/m.py', line: 5, endLine: 7 },
    { file: '/m.py', line: 9, endLine: 11 },
  ]);
  assert.deepEqual(linesOf({ path: [], details: { ...details, places: [place('class', 1)] } }), [{ file: '/m.py', line: 1, endLine: 1 }]);
  assert.deepEqual(linesOf(play(resting, { type: 'point', on: { place: { file: '/m.py', line: 3 } } }).pointed), [
    { file: '/m.py', line: 3, endLine: 3 },
  ]);
  assert.deepEqual(linesOf(play(known, { type: 'point' }).pointed), []);
  assert.deepEqual(linesOf(play(known, { type: 'show step', step: 2 }).pointed), []);
});

test('a chosen range is added up once, kept while zooming, and gone with what it was chosen in', () => {
  const state = play(opened(), loaded(0, []), { type: 'range', depth: 0, span: [10.4, 20.6] });
  const asked = needs(state, 1000).find(({ slot }) => slot === 'range')!;
  assert.deepEqual(asked.params, { profile: 'p', step: 1, path: [], from: 10, to: 21 });
  const sums = { from: 10, to: 21, device: 0, tracks: [], stages: [], layers: [], kernels: [], operators: [] };
  const known = play(state, { type: 'sums', sums }, { type: 'zoom', depth: 0, span: [0, 50] });
  assert.deepEqual(known.range, { depth: 0, span: [10.4, 20.6], sums });
  assert.ok(!needs(known, 1000).some(({ slot }) => slot === 'range'));
  const ends: Action[] = [
    { type: 'range', depth: 0 },
    { type: 'open', path: ['forward'] },
    { type: 'move', cursor: { depth: 0, segment: 'forward' } },
    { type: 'show step', step: 2 },
    { type: 'unfold' },
  ];
  for (const end of ends) assert.equal(play(known, end).range, undefined, end.type);
  assert.equal(play(opened(), { type: 'sums', sums }).range, undefined);
});

test('a range of the recording is added up over all steps', () => {
  const whole = play(opened(), { type: 'show recording' }, { type: 'range', depth: 0, span: [10, 20] });
  const asked = needs(whole, 1000).find(({ slot }) => slot === 'range')!;
  assert.deepEqual(asked.params, { profile: 'p', recording: true, from: 10, to: 20 });
  assert.equal(play(whole, { type: 'show step', step: 0 }).range, undefined);
});

test('the recording is a level above the steps: it is asked for as one, and its blocks lead to steps', () => {
  const step = play(opened(), loaded(0, []), { type: 'open', path: ['forward'] });
  const whole = play(step, { type: 'show recording' });
  assert.deepEqual([whole.view.step, whole.view.path, whole.view.cursor], [RECORDING, [], { depth: 0, segment: '1' }]);
  const [asked, ...others] = needs(whole, 500).filter(({ slot }) => slot.startsWith('level'));
  assert.deepEqual([asked?.method, asked?.params, others], ['hotlens/timeline/recording', { profile: 'p', width: 500 }, []]);
  const recording = {
    profile: 'p',
    extent: [0, 90] as Span,
    window: [0, 90] as Span,
    tracks: [trackOf('steps', [{ start: 0, duration: 10, label: 'step 0', segment: '0', open: true }])],
  };
  const shown = reduce(whole, asked!.done(recording as never));
  assert.deepEqual(shown.levels[0]?.whole?.level.extent, [0, 90]);
  // What is of a step is asked of the usual one, the selection of none; a search match leads into its step.
  assert.deepEqual(
    needs(shown, 500)
      .map(({ method }) => method)
      .filter((method) => /details|arrows/.test(method)),
    [],
  );
  assert.ok(
    needs(shown, 500).some(({ method, params }) => method === 'hotlens/timeline/breakdown' && (params as { step?: number }).step === 1),
  );
  assert.equal(play(shown, { type: 'go', path: ['forward'] }).view.step, 1);
  const opened0 = play(shown, { type: 'show step', step: 0 });
  assert.deepEqual([opened0.view.step, opened0.view.cursor, opened0.levels], [0, undefined, []]);
  assert.deepEqual({ ...readAddress(writeAddress(shown.view)), zooms: [] }, shown.view);
});

test('who chooses idle time is told why once, and no more once something else is chosen', () => {
  const level = levelOf(
    [
      trackOf('gpu', [
        { start: 0, duration: 40, label: 'idle', kind: 'idle', stage: 'idle' },
        { start: 40, duration: 60, label: 'a' },
      ]),
    ],
    [0, 100],
    { step: 1 },
  );
  const asked = (state: State) => needs(state, 500).filter(({ slot }) => slot === 'idle');
  const whole = reduce(opened(), { type: 'level', depth: 0, whole: true, loaded: { level, width: 500, unfold: false } });
  const idle = reduce(whole, { type: 'move', cursor: { depth: 0, segment: '', track: 'gpu', start: 0 } });
  assert.deepEqual(
    asked(idle).map(({ params }) => params),
    [{ profile: 'p', step: 1, track: 'gpu', at: 0 }],
  );
  const told = reduce(idle, asked(idle)[0]!.done({ parts: [], doing: [] } as never));
  assert.deepEqual([asked(told), idleUnder(told)?.parts], [[], []]);
  const other = reduce(told, { type: 'move', cursor: { depth: 0, segment: 'a', track: 'gpu', start: 40 } });
  assert.deepEqual([asked(other), idleUnder(other)], [[], undefined]);
});

test('moving the cursor changes nothing that the breakdown, batch sizes and checkpoints are drawn from', () => {
  const state = play(opened(), loaded(0, []));
  const moved = play(state, { type: 'move', cursor: { depth: 0, segment: 'forward' } }, { type: 'search', open: true }, { type: 'point' });
  for (const key of ['failures', 'breakdowns', 'batch', 'whatIfs', 'comparisons', 'expanded'] as const)
    assert.equal(moved[key], state[key], key);
  assert.equal(play(moved, { type: 'point' }), moved, 'nothing was pointed at');
});

test('what a listener changes is told after what it was told of, to every listener in one order', () => {
  const transport: Transport = {
    request: () => new Promise(() => undefined),
    onNotification: () => undefined,
    onConnection: () => undefined,
  };
  const store = createStore(initialState(START), transport);
  const told: (string | undefined)[] = [];
  store.subscribe(({ note, help }) => {
    if (note === 'one' && !help) store.dispatch({ type: 'help', open: true });
    if (note === 'two') throw new Error('broken');
  });
  store.subscribe(({ note, help }) => void told.push(`${note} ${help}`));
  store.dispatch({ type: 'note', note: 'one' });
  assert.deepEqual(told, ['one false', 'one true']);
  assert.throws(() => store.dispatch({ type: 'note', note: 'two' }));
  store.dispatch({ type: 'note', note: 'three' });
  assert.equal(told.at(-1), 'three true', 'a listener that fails stops none of what comes later');
});
