import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawPicture } from '../drawing/draw';
import { svgPen } from '../drawing/pen';
import { frameName, GROUP, RANKS, heightOf, hitLane, layoutLanes, toggledThreads, toggledWith, valueAt } from '../layout/lanes';
import { layoutPicture } from '../layout/layout';
import { scaleOf } from '../layout/scale';
import type { Counter, HostThread, Lanes, RankLane } from '../server/lane_messages';
import { readAddress, START, writeAddress } from '../state/address';
import { reduce } from '../state/reduce';
import { initialState, type State } from '../state/state';
import { needs } from '../store/needs';
import { levelOf, trackOf } from './fixtures';

const COLOURS = {
  theme: 'dark',
  ground: '#1e1e1e',
  text: '#d4d4d4',
  dim: '#9a9a9a',
  line: '#3c3c3c',
  accent: '#4daafc',
  font: 'sans',
} as const;

const memory: Counter = {
  id: 'memory',
  name: 'memory, GPU 0',
  unit: 'bytes',
  start: [0, 40, 50],
  least: [100, 120, 400],
  most: [100, 900, 400],
  length: 90,
  peak: { time: 45, value: 900 },
};

// Two rows: a function of one's own around an operator.
const main: HostThread = {
  id: 'main',
  name: 'CPU main',
  frames: 1200,
  others: 1,
  flame: {
    outer: ['main.py(1): <module>'],
    deeper: 0,
    rows: [
      { start: [10], duration: [60], label: [0], kind: [0], stage: [0], count: [1], place: [0] },
      { start: [20], duration: [10], label: [1], kind: [1], stage: [0], count: [3], place: [-1] },
    ],
    labels: ['train.py(41): rollout', 'aten::mm'],
    kinds: ['own', 'operator'],
    stages: ['forward'],
    places: [{ file: 'train.py', line: 40 }],
  },
};
const loader: HostThread = { id: 't2', name: 'CPU thread 2', frames: 3, others: 0 };

const lanes = (threads: readonly HostThread[] = [main, loader], counters: readonly Counter[] = [memory]): Lanes => ({
  profile: 'p',
  step: 0,
  window: [0, 100],
  pixel: 1,
  threads,
  moreThreads: 0,
  counters,
});

const kinds = (of: Lanes, toggled: readonly string[]): string[] =>
  layoutLanes(of, toggled, 0).rows.map((row) => (row.kind === 'head' ? `${row.id}${row.open ? '+' : ''}` : row.kind));

test('threads are closed and counters open at first; one thread needs no list of threads', () => {
  assert.deepEqual(kinds(lanes(), []), [GROUP, 'counter']);
  assert.deepEqual(kinds(lanes(), [GROUP]), [`${GROUP}+`, 'main', 't2', 'counter']);
  assert.deepEqual(kinds(lanes(), [GROUP, 'main']), [`${GROUP}+`, 'main+', 'flame', 'flame', 't2', 'counter']);
  assert.deepEqual(kinds(lanes([main]), []), ['main', 'counter']);
  assert.deepEqual(kinds(lanes([main]), ['memory']), ['main', 'memory']);
  assert.deepEqual(kinds(lanes([], []), []), []);
});

test('rows lie one below the other, and a level that has some grows by them', () => {
  const { rows, bottom } = layoutLanes(lanes(), [GROUP, 'main'], 100);
  let reached = 100;
  for (const row of rows) {
    assert.ok(row.top >= reached);
    reached = row.top + heightOf(row);
  }
  assert.equal(bottom, reached);
  const shown = { title: 'step 0', level: levelOf([trackOf('main', [])], [0, 100]), view: [0, 100] as const };
  const [bare, below] = [{}, { lanes: lanes(), toggled: [GROUP, 'main'] }].map((more) =>
    layoutPicture([{ ...shown, ...more }, shown], 900),
  );
  assert.ok(below!.levels[1]!.titleTop > bare!.levels[1]!.titleTop);
  assert.ok(below!.levels[0]!.tracksBottom < below!.levels[1]!.titleTop);
});

test('a point is on a head, a bar, a counter, its peak, or on nothing', () => {
  const scale = scaleOf([0, 100], 100, 1000);
  const { rows } = layoutLanes(lanes([main]), ['main'], 0);
  const at = (row: number, ns: number) => hitLane(rows, scale, 100 + ns * 10, rows[row]!.top + 2);
  assert.deepEqual(at(0, 0), { kind: 'head', id: 'main', open: true });
  const bar = at(1, 30);
  assert.ok(bar?.kind === 'bar' && bar.bar.row.place[bar.bar.index] === 0);
  assert.equal(at(1, 5), undefined);
  assert.equal(at(1, 75), undefined);
  const counted = at(3, 30);
  assert.ok(counted?.kind === 'counter' && counted.at === 30 && !counted.peak);
  const peak = at(3, 45);
  assert.ok(peak?.kind === 'counter' && peak.peak);
  assert.deepEqual(hitLane(rows, scale, 20, rows[3]!.top + 2), { kind: 'head', id: 'memory', open: true }); // its name
});

test('a counter is told at every moment of its window: of many changes in one pixel the most', () => {
  assert.deepEqual(
    [-1, 0, 39, 41, 50, 99].map((at) => valueAt(memory, at)),
    [undefined, 100, 100, 900, 400, 400],
  );
});

test('a function is called by its own name', () => {
  assert.equal(frameName('pkg/train.py(41): rollout'), 'rollout');
  assert.equal(frameName('<string>(1): <module>'), '<module>');
  assert.equal(frameName('nn.Module: Linear_3'), 'Linear_3');
  assert.equal(frameName('<built-in method view of Tensor object at 0x7f>'), 'view');
  assert.equal(frameName('aten::mm'), 'aten::mm');
});

test('one key opens the list and the main thread, and closes all threads again; counters stay as they are', () => {
  const opened = toggledThreads(['memory'], lanes());
  assert.deepEqual(opened, ['memory', GROUP, 'main']);
  assert.deepEqual(toggledThreads([...opened, 't2'], lanes()), ['memory']);
  assert.deepEqual(toggledThreads([], lanes([main])), ['main']);
  assert.deepEqual(toggledWith(toggledWith([], 'main'), 'main'), []);
});

test('what is open is kept in the address, and for another step', () => {
  const view = { ...START, profile: 'p', step: 1, lanes: [GROUP, 'main'] };
  assert.deepEqual(readAddress(writeAddress(view)).lanes, [GROUP, 'main']);
  assert.deepEqual(reduce(initialState(view), { type: 'show step', step: 2 }).view.lanes, [GROUP, 'main']);
  assert.deepEqual(reduce(initialState(view), { type: 'show profile', profile: 'q' }).view.lanes, [GROUP, 'main']);
});

const WIDTH = 100;

function stateWith(change: Partial<State> = {}): State {
  const level = levelOf([trackOf('main', [])], [0, 1000]);
  const overview = { steps: [], representative: 0, hasDevice: false } as unknown as NonNullable<State['overview']>;
  const whole = { level, width: WIDTH, unfold: false };
  return { ...initialState({ ...START, profile: 'p', step: 0 }), overview, levels: [{ whole }], ...change };
}

const asked = (state: State) => needs(state, WIDTH).find(({ slot }) => slot === 'lanes');

test('lanes are asked for once the step is there, again when a thread is opened, and as fine as the view', () => {
  const first = asked(stateWith());
  assert.deepEqual(first?.params, { profile: 'p', step: 0, open: [], from: 0, to: 1000, width: WIDTH });
  const known = reduce(stateWith(), first!.done({ ...lanes(), pixel: 10 } as never));
  assert.equal(asked(known), undefined);
  const opened = asked(reduce(known, { type: 'show lanes', toggled: ['main'] }));
  assert.deepEqual(opened?.params, { ...first!.params, open: ['main'] });
  const zoomed = asked(reduce(known, { type: 'zoom', depth: 0, span: [100, 200] }));
  assert.deepEqual(zoomed?.params, { profile: 'p', step: 0, open: [], from: 50, to: 250, width: 2 * WIDTH });
  assert.equal(asked({ ...known, view: { ...known.view, step: -1 } }), undefined); // the recording has none
  assert.equal(reduce(known, { type: 'show step', step: 1 }).lanes, undefined);
});

test('heads, functions, operators and counters are drawn with their words', () => {
  const pen = svgPen('sans', (text) => text.length * 6);
  const level = levelOf([trackOf('main', [])], [0, 100]);
  const shown = { title: 'step 0', level, view: [0, 100] as const, lanes: lanes(), toggled: [GROUP, 'main'] };
  const picture = layoutPicture([shown], 1200);
  drawPicture(pen, picture, { path: [], arrows: [], note: '', counted: { counter: 'memory', at: 60 } }, COLOURS, [0, picture.height]);
  const drawn = pen.document(1200, picture.height, '#1e1e1e');
  for (const words of ['2 host threads, 1\u202f203 Python functions', 'all of it in &#60;module&#62;', 'rollout', 'aten::mm', 'peak 900 B'])
    assert.ok(drawn.includes(words), words);
});

const rank = (number: number, shown: boolean): RankLane => ({
  rank: number,
  shown,
  profile: `rank${number}.json`,
  wall: 90,
  waits: number === 0 ? 20 : 0,
  transfers: 10,
  ahead: 0,
  work: { start: [0], duration: [30] },
  waiting: { start: number === 0 ? [30] : [], duration: number === 0 ? [20] : [] },
  transferring: { start: [50], duration: [10] },
});
const twoRanks: Lanes = { ...lanes([main], []), ranks: [rank(0, true), rank(1, false)] };

test('the ranks of a run stand first, open, and are closed together', () => {
  assert.deepEqual(kinds(twoRanks, []), ['ranks+', 'rank', 'rank', 'main']);
  assert.deepEqual(kinds(twoRanks, [RANKS]), ['ranks', 'main']);
});

test('a rank is hit on its whole row', () => {
  const { rows } = layoutLanes(twoRanks, [], 0);
  const hit = hitLane(rows, scaleOf([0, 100], 100, 200), 150, rows[2]!.top + 3);
  assert.equal(hit?.kind === 'rank' && hit.rank.rank, 1);
});

test('the ranks are drawn under each other on the axis of the step, their waiting hatched', () => {
  const pen = svgPen('sans', (text) => text.length * 6);
  const level = levelOf([trackOf('main', [])], [0, 100]);
  const picture = layoutPicture([{ title: 'step 0', level, view: [0, 100] as const, lanes: twoRanks, toggled: [] }], 1200);
  drawPicture(pen, picture, { path: [], arrows: [], note: '' }, COLOURS, [0, picture.height]);
  const drawn = pen.document(1200, picture.height, '#1e1e1e');
  for (const words of ['rank 0, shown', 'rank 1', '2 ranks of this run']) assert.ok(drawn.includes(words), words);
  assert.equal(drawn.match(/url\(#hatch/g)?.length, 1);
});
