import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutAxis, layoutTrack } from '../layout/layout';
import { finePixels, gapOf, GAP_WIDTH, nsPerPixel, scaleOf, toPixel, toTime, zoomed } from '../layout/scale';
import type { Span } from '../server/messages';
import { columns, levelOf, random, trackOf } from './fixtures';

// A host that works at 0 to 100, and its device at 800 to 1000.
const HOST = trackOf('cpu', [{ start: 0, duration: 100, label: 'backward' }]);
const DEVICE = trackOf(
  'gpu',
  [
    { start: 300, duration: 400, label: 'device idle', kind: 'idle' },
    { start: 800, duration: 200, label: 'gemm' },
  ],
  'device',
);

test("the gap is the longest time without anything of the level; a host's idle time is the level's own", () => {
  assert.deepEqual(gapOf(levelOf([HOST, DEVICE], [0, 1000])), [100, 800]);
  assert.equal(gapOf(levelOf([HOST], [0, 1000])), undefined, 'after the last block there is nothing to bring nearer');
  const thinking = trackOf('cpu', [{ start: 0, duration: 800, label: 'no operator', kind: 'idle' }]);
  assert.equal(gapOf(levelOf([thinking, DEVICE], [0, 1000])), undefined);
  const near = trackOf('gpu', [{ start: 350, duration: 650, label: 'gemm' }], 'device');
  assert.equal(gapOf(levelOf([HOST, near], [0, 1000])), undefined, 'a quarter is drawn as it is');
});

test('a gap is as wide as its time needs, what is beside it as wide as the rest allows, exact to a pixel', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const gap: Span = [1e5 + next() * 1e6, 2e6 + next() * 8e6];
    const view: Span = [next() * gap[0], gap[1] + next() * 1e6 + 1];
    const scale = scaleOf(view, 90, 200 + Math.floor(next() * 3000), gap);
    if (scale.gap === undefined) continue;
    assert.ok(Math.abs(toPixel(scale, gap[1]) - toPixel(scale, gap[0]) - GAP_WIDTH) < 1e-6);
    assert.ok(Math.abs(toPixel(scale, view[0]) - 90) < 1e-6 && Math.abs(toPixel(scale, view[1]) - 90 - scale.width) < 1e-6);
    for (const side of [
      [view[0], gap[0]],
      [gap[1], view[1]],
    ] as Span[]) {
      const [start, duration] = [Math.ceil(side[0]), Math.floor((side[1] - side[0]) / 2)];
      const [rect] = layoutTrack(columns([{ start, duration, label: 'a' }]), scale);
      assert.ok(Math.abs((rect?.width ?? 0) - duration / nsPerPixel(scale)) < 1e-3, `seed ${seed}`);
    }
    const x = 90 + next() * scale.width;
    assert.ok(Math.abs(toPixel(scale, toTime(scale, x)) - x) < 1e-3, `seed ${seed}: not inverse`);
    assert.ok(finePixels(scale) > scale.width);
    for (const { ns } of layoutAxis(scale).ticks) assert.ok(ns <= gap[0] || ns >= gap[1]);
  }
});

test('a view within the gap, or a gap that is short on the screen, is drawn as it is', () => {
  assert.equal(scaleOf([200, 300], 0, 1000, [100, 800]).gap, undefined);
  assert.equal(scaleOf([0, 1000], 0, 1000, [100, 150]).gap, undefined);
  assert.equal(scaleOf([0, 1000], 0, 100, [100, 800]).gap, undefined, 'too narrow to spend pixels on it');
  assert.deepEqual(scaleOf([0, 500], 0, 1000, [100, 800]).gap, [100, 500]);
});

test('zooming beside a gap keeps the time under the pointer in place and stays in the extent', () => {
  const [extent, gap]: Span[] = [
    [0, 50_000_000],
    [15_000_000, 34_000_000],
  ];
  for (let seed = 1; seed <= 50; seed++) {
    const next = random(seed);
    let view: Span = extent!;
    for (let round = 0; round < 40; round++) {
      const before = scaleOf(view, 0, 1000, gap);
      const x = next() * 1000;
      const at = toTime(before, x);
      const after = zoomed(view, extent!, at, 0.4 + next() * 1.4, before.gap === undefined ? undefined : gap);
      assert.ok(after[0] >= extent![0] - 1e-6 && after[1] <= extent![1] + 1e-6 && after[1] - after[0] >= 19.9, `seed ${seed}: ${after}`);
      const scale = scaleOf(after, 0, 1000, gap);
      const free =
        after[0] > extent![0] && after[1] < extent![1] && before.gap?.[0] === scale.gap?.[0] && before.gap?.[1] === scale.gap?.[1];
      const outside = at < gap![0] || at > gap![1];
      if (free && outside)
        assert.ok(Math.abs(toPixel(scale, at) - x) < 1, `seed ${seed} round ${round}: moved to ${toPixel(scale, at)} from ${x}`);
      view = after;
    }
  }
});
