import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectorBetween, firstSeen, hitBlock, labelThatFits, layoutAxis, layoutPicture, layoutTrack } from '../layout/layout';
import { panned, toPixel, toTime, zoomed } from '../layout/scale';
import type { Span } from '../server/messages';
import { columns, levelOf, random, trackOf, type SimpleBlock } from './fixtures';

function randomBlocks(next: () => number): SimpleBlock[] {
  const blocks: SimpleBlock[] = [];
  let at = Math.floor(next() * 1000);
  for (let count = Math.floor(next() * 200); count >= 0; count--) {
    const duration = Math.floor(next() ** 4 * 100_000);
    blocks.push({ start: at, duration, label: `b${count}` });
    at += duration + (next() < 0.5 ? 0 : Math.floor(next() * 5000));
  }
  return blocks;
}

test('every drawn block is as wide as the part of its events that is seen, exact to a pixel, and none is lost', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const next = random(seed);
    const blocks = randomBlocks(next);
    const last = blocks.at(-1)!.start + blocks.at(-1)!.duration + 1;
    const from = Math.floor(next() * last);
    const view: Span = [from, from + 1 + Math.floor(next() * (last - from))];
    const scale = { view, left: 100, width: 50 + Math.floor(next() * 4000) };
    const rects = layoutTrack(columns(blocks), scale);
    const drawn = new Map(rects.map((rect) => [rect.index, rect]));
    blocks.forEach(({ start, duration }, index) => {
      const seen = Math.max(0, Math.min(view[1], start + duration) - Math.max(view[0], start));
      const rect = drawn.get(index);
      if (seen > 0) assert.ok(rect !== undefined, `seed ${seed}: block ${index} is not drawn`);
      if (rect === undefined) return;
      assert.ok(Math.abs(rect.width - (seen / (view[1] - view[0])) * scale.width) < 1, `seed ${seed}: width of block ${index}`);
      assert.ok(
        rect.x >= scale.left - 1e-6 && rect.x + rect.width <= scale.left + scale.width + 1e-6,
        `seed ${seed}: block ${index} leaves the track`,
      );
      assert.ok(Math.abs(rect.x - toPixel(scale, Math.max(view[0], start))) < 1e-6, `seed ${seed}: place of block ${index}`);
    });
  }
});

test('a point on a drawn block finds this block, a thin one within reach', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const blocks = randomBlocks(random(seed));
    const scale = { view: [0, blocks.at(-1)!.start + blocks.at(-1)!.duration + 1] as Span, left: 0, width: 1000 };
    for (const rect of layoutTrack(columns(blocks), scale)) {
      if (rect.width < 0.1) continue;
      assert.equal(hitBlock(columns(blocks), scale, rect.x + rect.width / 2, 0), rect.index, `seed ${seed}`);
    }
  }
  const lonely = columns([{ start: 500, duration: 1, label: 'thin' }]);
  const scale = { view: [0, 1000] as Span, left: 0, width: 100 };
  assert.equal(hitBlock(lonely, scale, 52, 3), 0);
  assert.equal(hitBlock(lonely, scale, 60, 3), undefined);
  assert.equal(hitBlock(columns([]), scale, 60, 3), undefined);
});

test('the first block that is seen may have begun before the view', () => {
  const blocks = columns([
    { start: 0, duration: 10, label: 'a' },
    { start: 10, duration: 5, label: 'b' },
    { start: 30, duration: 1, label: 'c' },
  ]);
  assert.deepEqual(
    [-1, 0, 9, 10, 14, 15, 30, 31].map((from) => firstSeen(blocks, from)),
    [0, 0, 0, 1, 1, 2, 2, 3],
  );
});

test("pixels and times are each other's inverse, at any zoom", () => {
  const next = random(7);
  for (let round = 0; round < 200; round++) {
    const from = next() * 1e9;
    const scale = { view: [from, from + 20 + next() * 1e9] as Span, left: 90, width: 1 + next() * 4000 };
    const x = scale.left + next() * scale.width;
    assert.ok(Math.abs(toPixel(scale, toTime(scale, x)) - x) < 1e-3);
  }
});

test('zooming keeps the time under the pointer in place and never leaves the extent', () => {
  const extent: Span = [100, 1_000_100];
  const next = random(11);
  let view: Span = extent;
  for (let round = 0; round < 2000; round++) {
    const at = view[0] + next() * (view[1] - view[0]);
    const share = (at - view[0]) / (view[1] - view[0]);
    const after = zoomed(view, extent, at, 0.3 + next() * 2);
    assert.ok(after[0] >= extent[0] - 1e-6 && after[1] <= extent[1] + 1e-6 && after[1] - after[0] >= 19.999);
    const inside = after[0] > extent[0] + 1 && after[1] < extent[1] - 1;
    if (inside) assert.ok(Math.abs((at - after[0]) / (after[1] - after[0]) - share) < 1e-3);
    view = panned(after, extent, (next() - 0.5) * 1e5);
    assert.ok(Math.abs(view[1] - view[0] - (after[1] - after[0])) < 1e-3, 'panning keeps the span');
    assert.ok(view[0] >= extent[0] - 1e-6 && view[1] <= extent[1] + 1e-6);
  }
});

test('a level below hangs on the part of the level above that it shows', () => {
  const step = levelOf([trackOf('cpu', [{ start: 0, duration: 1000, label: 'forward' }])], [0, 1000]);
  const inner = levelOf([trackOf('cpu', [{ start: 200, duration: 300, label: 'layer' }])], [200, 500]);
  const picture = layoutPicture(
    [
      { title: 'step', level: step, view: [0, 1000] },
      { title: 'forward', level: inner, view: [200, 500] },
    ],
    1136,
  );
  const [above, below] = picture.levels;
  const connector = connectorBetween(above!, below!)!;
  const { left, width } = above!.scale;
  assert.deepEqual(connector.from.map(Math.round), [left + 0.2 * width, left + 0.5 * width].map(Math.round));
  assert.deepEqual(connector.to, [left, left + width]);
  assert.ok(above!.tracksBottom < connector.top && connector.bottom <= below!.tracksTop && below!.bottom <= picture.height);
});

test('levels and tracks never overlap, on any width, loaded or not', () => {
  for (const width of [1, 200, 700, 4000]) {
    const track = trackOf('cpu', [{ start: 0, duration: 10, label: 'a' }]);
    const shown = [0, 1, 24].map((tracks) => ({
      title: 't',
      level: levelOf(
        Array.from({ length: tracks }, () => track),
        [0, 10],
      ),
      view: [0, 10] as Span,
    }));
    const picture = layoutPicture([...shown, { title: 'loading', level: undefined, view: [0, 1] }], width);
    let bottom = 0;
    for (const level of picture.levels) {
      assert.ok(level.titleTop >= bottom && level.axisTop > level.titleTop && level.tracksTop > level.axisTop);
      for (const { top } of level.tracks) assert.ok(top >= level.tracksTop && top < level.tracksBottom);
      bottom = level.bottom;
    }
    assert.ok(picture.trackWidth >= 1 && picture.height >= bottom);
  }
});

test('an axis has round times about a hundred pixels apart, all of them inside', () => {
  for (const width of [1, 200, 1140, 4000]) {
    const { ticks, step } = layoutAxis({ view: [3_200_000, 15_400_000], left: 90, width });
    assert.ok(ticks.length <= width / 50 + 2, `${ticks.length} on ${width}`);
    for (const { ns } of ticks) assert.ok(ns >= 3_200_000 && ns <= 15_400_000 && Math.abs(ns / step - Math.round(ns / step)) < 1e-6);
  }
});

test('a label says as much as fits, cut ones end in an ellipsis, less than three letters say nothing', () => {
  const measure = (text: string): number => text.length * 10;
  assert.equal(labelThatFits(['conv1  1.31 ms', 'conv1'], 140, measure), 'conv1  1.31 ms');
  assert.equal(labelThatFits(['conv1  1.31 ms', 'conv1'], 139, measure), 'conv1');
  assert.equal(labelThatFits(['convolution'], 60, measure), 'convo…');
  assert.equal(labelThatFits(['convolution'], 30, measure), '');
  assert.equal(labelThatFits(['SwitchTransformerBlock_12'], 160, measure), 'SwitchTra…ock_12');
  assert.equal(labelThatFits(['layers.12'], 80, measure), 'laye….12');
  assert.equal(labelThatFits(['layers.12'], 50, measure), 'laye…');
  assert.equal(labelThatFits([], 30, measure), '');
});
