import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Colours } from '../base/palette';
import { stageColour } from '../base/palette';
import { drawPicture } from '../drawing/draw';
import type { Pen } from '../drawing/pen';
import { layoutPicture } from '../layout/layout';
import { coverOf, strokesOf, withRuns } from '../layout/runs';
import type { Level } from '../server/level_messages';
import { gapWords, seenBlock } from '../view/shown';
import { levelOf, random, trackOf, type SimpleBlock } from './fixtures';

const COLOURS: Colours = {
  theme: 'dark',
  ground: '#1e1e1e',
  text: '#d4d4d4',
  dim: '#8b8b8b',
  line: '#3c3c3c',
  accent: '#4daafc',
  font: 'sans-serif',
};

interface Marks {
  readonly rects: { x: number; width: number; fill: string; opacity: number }[];
  readonly hatches: { x: number; width: number }[];
  readonly texts: string[];
}

function drawn(level: Level, width: number): Marks {
  const marks: Marks = { rects: [], hatches: [], texts: [] };
  const pen: Pen = {
    rect: (x, _y, w, _h, fill, opacity = 1) => void marks.rects.push({ x, width: w, fill, opacity }),
    hatch: (x, _y, w) => void marks.hatches.push({ x, width: w }),
    text: (_x, _y, text) => void marks.texts.push(text),
    measure: (text) => text.length * 7,
    frame: () => undefined,
    polygon: () => undefined,
    curve: () => undefined,
    line: () => undefined,
  };
  const picture = layoutPicture([{ title: 't', level, view: level.extent }], width);
  drawPicture(pen, picture, { path: [], arrows: [], note: '' }, COLOURS, [0, picture.height]);
  return marks;
}

// Pixels of a colour on the canvas, pale ones in part.
const inkOf = ({ rects }: Marks, fill: string): number =>
  rects.filter((rect) => rect.fill === fill).reduce((sum, { width, opacity }) => sum + width * opacity, 0);

test('pieces of one block are one run with the sum of their time, and whatever differs stays apart', () => {
  const blocks: SimpleBlock[] = [
    { start: 0, duration: 3, label: 'a', spans: 2, waiting: 1 },
    { start: 7, duration: 3, label: 'a', spans: 4, waiting: 2 },
    { start: 12, duration: 5, label: 'b' },
    { start: 17, duration: 5, label: 'b', stage: 'backward' },
    { start: 100, duration: 5, label: 'b', stage: 'backward' },
  ];
  const [track] = withRuns(levelOf([trackOf('gpu', blocks)], [0, 200], { pixel: 5 })).tracks;
  assert.deepEqual(track!.blocks.start, [0, 12, 17, 100]);
  assert.deepEqual(track!.blocks.duration, [10, 5, 5, 5]);
  assert.deepEqual(track!.blocks.busy, [6, 5, 5, 5]);
  assert.deepEqual(track!.blocks.spans, [6, 1, 1, 1]);
  assert.deepEqual(track!.blocks.waiting, [3, 0, 0, 0]);
  assert.deepEqual(track!.pieces!.first, [0, 2, 3, 4, 5]);
  const seen = seenBlock(levelOf([track!], [0, 200]), 'gpu', 0)!;
  assert.equal(gapWords(seen), '6 stretches over 10 ns, 4 ns between them');
});

test('idle time and merged blocks never become runs', () => {
  const blocks: SimpleBlock[] = ['idle', 'idle', 'merged', 'merged'].map((kind, at) => ({
    start: at * 3,
    duration: 2,
    label: 'x',
    kind,
    count: 2,
  }));
  const level = levelOf([trackOf('gpu', blocks)], [0, 20], { pixel: 5 });
  assert.equal(withRuns(level).tracks[0]!.blocks.start.length, 4);
});

test('strokes cover what their spans do, but for a thin one that stands alone', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const spans: [number, number][] = [];
    for (let x = next() * 5; x < 300; ) {
      const width = next() ** 3 * 8;
      spans.push([x, x + width]);
      x += width + next() * 0.9; // no gap leaves a column empty
    }
    const covered = spans.reduce((sum, [from, to]) => sum + to - from, 0);
    const ink = strokesOf(spans).reduce((sum, { width, cover }) => sum + width * cover, 0);
    assert.ok(Math.abs(ink - covered) < 1 + 0.01 * covered, `seed ${seed}: ${ink} for ${covered}`);
  }
  assert.ok(strokesOf([[10.2, 10.21]])[0]!.cover > 0.3, 'one kernel of a long step is seen');
  assert.equal(coverOf(strokesOf([[0, 10]]), 5, 15), 0.5);
});

test('a block of short kernels with gaps is drawn as much as it is busy, and its label says that time', () => {
  for (const [kernel, gap] of [
    [30, 70],
    [500, 900],
    [2000, 2100],
    [5000, 900],
  ] as const) {
    const blocks: SimpleBlock[] = [];
    for (let at = 0; at + kernel <= 1_000_000; at += kernel + gap) {
      blocks.push({ start: at, duration: kernel, label: 'net', segment: 'net', whole: 2_000_000 });
    }
    const busy = blocks.length * kernel;
    const level = withRuns(levelOf([trackOf('gpu', blocks, 'device')], [0, 1_000_000], { pixel: 1000 }));
    const width = 1160; // 1000 pixels for the track
    const marks = drawn(level, width);
    const opacity = 0.8; // of a device's blocks
    const share = inkOf(marks, stageColour('forward', 'dark')) / opacity / (layoutPicture([], width).trackWidth * (busy / 1_000_000));
    assert.ok(share > 0.75 && share <= 1.1, `${kernel} of ${kernel + gap}: ${share}`);
    assert.ok(
      marks.texts.some((text) => text.startsWith('net  ') && text.endsWith(' of 2.00 ms')),
      marks.texts.join(),
    );
  }
});

test('what the host waits is drawn as waiting, and the label says how much of the block it is', () => {
  const copy = (waiting: number): Level => ({
    ...levelOf(
      [{ ...trackOf('cpu', [{ start: 0, duration: 1000, label: 'copy', waiting }]), waits: { start: [100], duration: [waiting] } }],
      [0, 1000],
    ),
  });
  const marks = drawn(copy(600), 1160);
  assert.ok(marks.texts.includes('copy  1.00 µs, 600 ns waiting'));
  const hatched = marks.hatches.reduce((sum, { width }) => sum + width, 0);
  assert.ok(Math.abs(hatched / layoutPicture([], 1160).trackWidth - 0.6) < 0.01);
  assert.ok(drawn(copy(50), 1160).texts.includes('copy  1.00 µs'));
  assert.ok(drawn(copy(1000), 1160).texts.includes('copy  1.00 µs, all waiting'));
});

test('runs of one block that are near each other share a label', () => {
  const blocks: SimpleBlock[] = [];
  for (let at = 0; at < 10; at++) blocks.push({ start: at * 50, duration: 45, label: 'net', segment: 'net', whole: 450 });
  const marks = drawn(levelOf([trackOf('gpu', blocks)], [0, 1000]), 660);
  assert.deepEqual(
    marks.texts.filter((text) => text.startsWith('net')),
    ['net  450 ns'],
  );
});

test('communication has one colour whatever stage it is part of, paler where other work hides it', () => {
  const red = stageColour('communication', 'dark');
  const opacities = (blocks: readonly SimpleBlock[], kind: 'communication' | 'overlap' | 'device'): number[] =>
    drawn(levelOf([trackOf('gpu', blocks, kind)], [0, 100]), 660).rects.flatMap(({ fill, opacity }) => (fill === red ? [opacity] : []));
  const backward: SimpleBlock[] = [{ start: 0, duration: 50, label: 'backward', kind: 'stage', stage: 'backward' }];
  assert.equal(opacities(backward, 'communication').length, 1);
  assert.equal(opacities(backward, 'device').length, 0);
  const [exposed, hidden] = opacities(
    [
      { start: 0, duration: 50, label: 'exposed', kind: 'exposed', stage: 'communication', segment: '' },
      { start: 50, duration: 50, label: 'hidden', kind: 'hidden', stage: 'hidden_communication', segment: '' },
    ],
    'overlap',
  ) as [number, number];
  assert.ok(hidden < 0.5 * exposed, `${exposed} ${hidden}`);
});
