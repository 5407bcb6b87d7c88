import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Colours } from '../base/palette';
import { changeText, sorted } from '../compare/compare';
import { pictureAsSvg } from '../drawing/export_picture';
import { layoutPicture } from '../layout/layout';
import { rowsOf } from '../panel/block_rows';
import { collectiveWords } from '../panel/collectives';
import { othersOf } from '../panel/kernels';
import { changeOf } from '../plan/gains';
import { communicationWords, sensitivityWords } from '../plan/helps';
import { layoutSlices, mainPart, partsOf, peakWords } from '../screen/breakdown';
import { facts } from '../screen/header';
import { difference, farthestOutlier, stripTop } from '../screen/steps';
import type { Details } from '../server/details_messages';
import type { Overview } from '../server/messages';
import type { BreakdownRow, CompareRow } from '../server/table_messages';
import { levelOf, random, trackOf } from './fixtures';

const COLOURS: Colours = {
  theme: 'dark',
  ground: '#1e1e1e',
  text: '#d4d4d4',
  dim: '#8b8b8b',
  line: '#3c3c3c',
  accent: '#4daafc',
  font: 'sans-serif',
};
const measure = (text: string): number => text.length * 7;

test('an exported picture is one well-formed document, whatever a trace calls its blocks', () => {
  const names = ['<script>alert(1)</script>', 'a & b "c" \'d\'', '\u0000\u0007]]>', '</text></svg>', 'x'.repeat(10_000)];
  const blocks = names.map((label, index) => ({ start: index * 100, duration: 90, label, segment: String(index) }));
  const level = levelOf([trackOf('<b>&', blocks)], [0, 500]);
  const picture = layoutPicture([{ title: '<i>', level, view: [0, 500] }], 2000);
  const svg = pictureAsSvg(picture, { path: [], cursor: { depth: 0, segment: '0' }, arrows: [], note: '&' }, COLOURS, measure);
  // Only marks of our own, every attribute quoted, no raw control characters: nothing of a name is markup.
  const tags = new Set([...svg.matchAll(/<\/?([a-zA-Z]+)/g)].map(([, name]) => name));
  assert.deepEqual([...tags].sort(), ['defs', 'line', 'rect', 'svg', 'text']);
  assert.ok(!/&(?!#\d+;)/.test(svg) && !/[\u0000-\u0008]/.test(svg));
  assert.equal(svg.match(/<text/g)?.length, svg.match(/<\/text>/g)?.length);
  assert.ok(svg.includes('&#60;script&#62;'));
});

test('the parts of all rows of memory are added up, most first', () => {
  const row = (...parts: [string, number][]): BreakdownRow => ({
    label: '',
    kind: 'module',
    value: 0,
    children: 0,
    parts: parts.map(([what, value]) => ({ what, value })),
  });
  const sums = partsOf([row(['weights', 5], ['activations', 2]), row(), row(['activations', 4], ['gradients', 0])]);
  assert.deepEqual(sums, [
    { what: 'activations', value: 6 },
    { what: 'weights', value: 5 },
  ]);
});

test('a change within the noise says how much it is, so that rows add up', () => {
  const row = (change: CompareRow['change'], before: number, after: number): CompareRow => ({ change, before, after, children: 0 });
  const texts = [row('same', 171_000_000, 157_000_000), row('same', 5, 5), row('faster', 2_000_000, 1_000_000)].map(changeText);
  assert.deepEqual(texts, ['−14.0 ms, noise', 'same', '−1.00 ms (−50 %)']);
});

test("a module that is called several times says its own call's times beside those of all calls", () => {
  const of = (calls: number) =>
    rowsOf({ duration: 5, start: 0, calls, times: { device: 4 }, forward: { device: 12 }, backward: {} } as unknown as Details).map(
      ([name, value]) => `${name} ${value}`,
    );
  assert.deepEqual(of(3), ['span 5 ns', 'device busy 4 ns', 'forward ×3, device busy 12 ns']);
  assert.deepEqual(of(1), ['span 5 ns', 'forward, device busy 12 ns']);
});

test('of several outliers the one farthest from the median is named', () => {
  const step = (wall: number, outlier: boolean) => ({ index: 0, wall, device: 0, outlier, differences: [] });
  assert.equal(farthestOutlier({ steps: [step(10, false), step(1000, true), step(2000, true), step(1, true)], median: 10 }), 2);
  assert.equal(farthestOutlier({ steps: [step(10, false), step(10, true)], median: 10 }), 1);
  assert.equal(farthestOutlier({ steps: [step(10, false)], median: 10 }), -1);
});

test('what a panel has no row for is told with what the server left out', () => {
  assert.deepEqual(othersOf([{ time: 3 }, { time: 4 }], { count: 20, time: 100 }), { count: 22, time: 107 });
  assert.deepEqual(othersOf([], undefined), { count: 0, time: 0 });
});

test('why a step stands out is said without the words of the profile', () => {
  const said = ['bucket data_loading', 'module layer_1.0', 'bucket forward'].map((what) => difference({ what, excess: 1_500_000 }));
  assert.deepEqual(said, ['+1.50 ms in data loading', '+1.50 ms in layer_1.0', '+1.50 ms in forward']);
});

test('a device whose driver tells no name is a GPU', () => {
  const overview = { profile: { devices: ['', '', 'A100'], model: 'Net' }, steps: [{}], hasDevice: true } as unknown as Overview;
  assert.equal(facts(overview), 'Net · GPU ×2, A100 · 1 step');
});

test("a breakdown's slices have the width of their share and together fill the bar", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const next = random(seed);
    const rows: BreakdownRow[] = Array.from({ length: 1 + Math.floor(next() * 60) }, (_, index) => ({
      label: String(index),
      kind: 'module',
      value: Math.floor(next() ** 3 * 1e6),
      parts: [],
      children: 0,
    }));
    const whole = rows.reduce((sum, { value }) => sum + value, 0);
    const slices = layoutSlices(rows, whole, 0.25, 0.5);
    if (whole === 0) continue;
    let at = 0.25;
    for (const slice of slices) {
      assert.ok(Math.abs(slice.left - at) < 1e-9, `seed ${seed}`);
      if (slice.row !== undefined) assert.ok(Math.abs(slice.width - (slice.row.value / whole) * 0.5) < 1e-9, `seed ${seed}`);
      at += slice.width;
    }
    assert.ok(Math.abs(at - 0.75) < 1e-9, `seed ${seed}`);
  }
  assert.deepEqual(layoutSlices([], 0, 0, 1), []);
});

test('a row has the colour of what most of it is', () => {
  const row = {
    label: 'r',
    kind: 'module',
    value: 3,
    children: 0,
    parts: [
      { what: 'forward', value: 1 },
      { what: 'backward', value: 2 },
    ],
  };
  assert.equal(mainPart(row), 'backward');
  assert.equal(mainPart({ ...row, parts: [] }), 'module');
});

test('an exchange says its processes, its algorithm, its bytes and how fast it was at least, as far as they are known', () => {
  const known = { operation: 'all_reduce', group: '0', calls: 5, time: 100, exposed: 20 };
  const told = { processes: 8, type: 'Float', algorithm: 'ring, LL', bytes: 102e6, busBandwidth: 15.2e9, algorithmBandwidth: 8.69e9 };
  assert.deepEqual(collectiveWords({ ...known, ...told }), [
    '8 processes, Float, ring, LL',
    '102 MB, bus at least 15.2 GB/s, algorithm 8.69 GB/s',
    '80 % hidden by other work',
  ]);
  assert.deepEqual(collectiveWords({ ...known, exposed: 100 }), ['0 % hidden by other work']);
});

test('the largest change comes first, noise last', () => {
  const row = (module: string, change: CompareRow['change'], before?: number, after?: number): CompareRow => ({
    module,
    class: 'M',
    change,
    noise: 1,
    children: 0,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  });
  const rows = [
    row('same', 'same', 10, 90),
    row('faster', 'faster', 30, 10),
    row('new', 'added', undefined, 50),
    row('slower', 'slower', 10, 15),
  ];
  assert.deepEqual(
    sorted(rows).map(({ module }) => module),
    ['new', 'faster', 'slower', 'same'],
  );
});

test('one extreme step does not flatten the others', () => {
  const steps = [10, 11, 500].map((wall, index) => ({ index, wall, device: 0, outlier: false, differences: [] }));
  const overview = { steps, median: 11 } as unknown as Parameters<typeof stripTop>[0];
  assert.ok(stripTop(overview) < 50);
  assert.ok(stripTop({ ...overview, steps: [] }) > 0);
});

test("the moment of the peak is told by what ran, and by its time where that is the shown step's", () => {
  assert.equal(peakWords({ stage: 'zero_grad' }), 'in zero grad');
  assert.equal(peakWords({ stage: 'backward', module: 'layer3.0.conv2' }), 'in backward of layer3.0.conv2');
  assert.equal(peakWords({ stage: 'forward', module: '', time: 1_500_000 }), 'in forward, 1.50 ms after the step began');
  assert.equal(peakWords({ stage: 'forward', module: `${'a.'.repeat(50)}conv` }), `in forward of …${'a.'.repeat(12)}conv`);
});

test('what half the time of one side gives is written as the report writes it', () => {
  assert.equal(sensitivityWords({ kernels: 0.62, host: 0.991 }), 'if kernels took half their time −38 %, if the host did −1 %');
  assert.equal(
    communicationWords({ hidden: 0.9, without: 0.7 }),
    'if communication were hidden behind computing −10 %, without communication −30 %',
  );
  assert.deepEqual([1, 0.996, 0.994, 1.02].map(changeOf), ['0 %', '0 %', '−1 %', '+2 %']);
});
