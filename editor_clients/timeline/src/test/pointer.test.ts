import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutPicture, type Picture } from '../layout/layout';
import { nsPerPixel, toPixel } from '../layout/scale';
import { NOWHERE, pointerStep, type Effect, type PointerInput, type PointerState, type Spot } from '../levels/pointer';
import { levelOf, trackOf } from './fixtures';

const step = levelOf(
  [
    trackOf('cpu', [
      { start: 0, duration: 400, label: 'forward', open: true },
      { start: 500, duration: 500, label: 'backward', open: true },
    ]),
  ],
  [0, 1000],
);
const inner = levelOf([trackOf('cpu', [{ start: 0, duration: 400, label: 'conv' }])], [0, 400], { path: ['forward'] });
const PICTURE = layoutPicture(
  [
    { title: 'step', level: step, view: [0, 1000] },
    { title: 'forward', level: inner, view: [0, 400] },
  ],
  1160,
);
const [TOP] = PICTURE.levels;

// On the track of a level, at a time of its axis.
function spot(ns: number, level = 0, picture: Picture = PICTURE): Spot {
  const { scale, tracks } = picture.levels[level]!;
  return { x: toPixel(scale, ns), y: tracks[0]!.top + 10, scroll: 0 };
}

function play(
  events: readonly PointerInput[],
  from: PointerState = NOWHERE,
  picture = PICTURE,
): { state: PointerState; effects: Effect[] } {
  const all: Effect[] = [];
  const state = events.reduce((before, event) => {
    const [next, effects] = pointerStep(before, event, picture);
    all.push(...effects);
    return next;
  }, from);
  return { state, effects: all };
}

const down = (at: Spot, shift = false): PointerInput => ({ type: 'down', spot: at, shift });
const move = (at: Spot, pressed = true): PointerInput => ({ type: 'move', spot: at, pressed });
const up = (at: Spot): PointerInput => ({ type: 'up', spot: at });
const types = (effects: readonly Effect[]): string => effects.map(({ type }) => type).join(' ');
const right = (at: Spot, x: number, y = 0): Spot => ({ ...at, x: at.x + x, y: at.y + y });

test('a press that hardly moves is a click: it selects the block and nothing else', () => {
  const at = spot(100);
  const { state, effects } = play([down(at), move(right(at, 2, 2)), up(at)]);
  assert.equal(types(effects), 'release select');
  const [, select] = effects;
  assert.ok(select?.type === 'select' && select.seen.label === 'forward' && select.depth === 0);
  assert.deepEqual(state, NOWHERE);
  assert.equal(types(play([down(spot(450)), up(spot(450))]).effects), 'release', 'between two blocks there is nothing to select');
});

test('a drag pans by as much as the hand moves, scrolls with it, and selects nothing', () => {
  const at = { ...spot(100), scroll: 30 };
  const level = { ...at, y: at.y - 30 };
  const { effects } = play([down(level), move(right(level, 10, 5)), move(right(level, -40, 8)), up(right(level, -40, 8))]);
  assert.equal(types(effects), 'grab pan scroll pan scroll release');
  const panned = effects.reduce((sum, effect) => (effect.type === 'pan' ? sum + effect.ns : sum), 0);
  assert.ok(Math.abs(panned - 40 * nsPerPixel(TOP!.scale)) < 1e-9);
  assert.deepEqual(
    effects.flatMap((effect) => (effect.type === 'scroll' ? [effect.top] : [])),
    [25, 22],
  );
});

test('with Shift a drag chooses a range, in either direction, and keeps the picture where it is', () => {
  for (const [from, to] of [
    [100, 300],
    [300, 100],
  ] as const) {
    const { effects } = play([down(spot(from), true), move(spot(to)), up(spot(to))]);
    assert.equal(types(effects), 'grab choose release');
    const [, choose] = effects;
    assert.ok(choose?.type === 'choose');
    assert.deepEqual(choose.span.map(Math.round), [100, 300]);
  }
});

test('what is under the pointer changes with the block, be it the first of its track on another level', () => {
  const over = [
    move(spot(600), false),
    move(spot(100), false),
    move(spot(120), false),
    move(spot(100, 1), false),
    move(spot(110, 1), false),
  ];
  const { state, effects } = play(over);
  assert.deepEqual(
    effects.map((effect) => effect.type === 'hover' && effect.changed),
    [true, true, false, true, false],
  );
  assert.equal(state.hover?.seen?.label, 'conv');
  const left = play([{ type: 'leave' }], state);
  assert.deepEqual([left.state, types(left.effects)], [NOWHERE, 'leave']);
});

test('a press that was let go elsewhere, or taken away, drags nothing any more', () => {
  const at = spot(100);
  assert.equal(types(play([down(at), move(right(at, 50), false)]).effects), 'hover');
  const { state, effects } = play([down(at), move(right(at, 50)), { type: 'cancel' }, move(right(at, 90), false)]);
  assert.equal(types(effects), 'grab pan scroll release hover');
  assert.equal(state.press, undefined);
});

test('a double press opens the block', () => {
  const [open, ...others] = play([{ type: 'double', spot: spot(600) }]).effects;
  assert.ok(open?.type === 'open' && open.seen.label === 'backward' && others.length === 0);
});

test('the wheel zooms where the pointer is and pans sidewards; where it can do neither it is left to the browser', () => {
  const wheel = (change: Partial<PointerInput & { type: 'wheel' }>): Effect[] =>
    play([{ type: 'wheel', spot: spot(100), dx: 0, dy: -100, lines: false, shift: false, ctrl: false, zooms: [], ...change }]).effects;
  const [consume, zoom] = wheel({});
  assert.ok(consume?.type === 'consume' && zoom?.type === 'zoom');
  assert.ok(Math.abs(zoom.at - 100) < 1e-6 && zoom.factor < 1);
  assert.equal(types(wheel({ dy: 100 })), '', 'nothing is left to zoom out of');
  assert.equal(types(wheel({ dy: 100, ctrl: true })), 'consume zoom hover');
  assert.equal(types(wheel({ dy: 100, zooms: [[0, 500]] })), 'consume zoom hover');
  assert.equal(types(wheel({ spot: { ...spot(100), x: 5 } })), '', 'beside the tracks it scrolls');
  const pan = wheel({ shift: true, lines: true, dy: -2 }).find(({ type }) => type === 'pan');
  assert.ok(pan?.type === 'pan' && Math.abs(pan.ns + 32 * nsPerPixel(TOP!.scale)) < 1e-9);
});

test('of two timelines a hit says which one it is in', () => {
  const origin = 0;
  const both = layoutPicture(
    [
      { depth: 0, title: 'before', level: step, view: [0, 1000], pair: { side: 'before', origin, path: [] } },
      { depth: 0, title: 'after', level: step, view: [0, 1000], pair: { side: 'after', origin } },
    ],
    1160,
  );
  const { state, effects } = play([move(spot(100, 0, both), false), move(spot(100, 1, both), false)], NOWHERE, both);
  assert.deepEqual(
    effects.map((effect) => effect.type === 'hover' && effect.changed),
    [true, true],
  );
  assert.equal(state.hover?.seen?.before, undefined);
  const upper = play([down(spot(600, 0, both)), up(spot(600, 0, both))], NOWHERE, both).effects.at(-1);
  assert.ok(upper?.type === 'select' && upper.seen.before?.length === 0);
});
