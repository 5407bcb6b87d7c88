// What the pointer does over the levels, as a state machine: (state, event) → (state, effects). The canvas carries the effects out. Pure.
import { hitLane, type LaneHit } from '../layout/lanes';
import { AXIS_HEIGHT, hitBlock, TRACK_HEIGHT, type LevelLayout, type Picture } from '../layout/layout';
import { nsPerPixel, toTime } from '../layout/scale';
import type { Span } from '../server/messages';
import { seenBlock, type Seen } from '../view/shown';

const DRAG_FROM = 4; // pixels: a shorter move is a click
const REACH = 3; // pixels around a thin block that count as it
const WHEEL_ZOOM = 0.0016; // of a pixel of wheel
const WHEEL_LINE = 16; // pixels of a line, where the wheel counts lines

export interface Hit {
  readonly depth: number;
  readonly level: LevelLayout;
  readonly seen: Seen | undefined;
  readonly lane: LaneHit | undefined;
  readonly at: number; // ns
}

interface Press {
  readonly x: number;
  readonly y: number;
  readonly scroll: number; // of the pane, when it began
  readonly lastX: number;
  readonly depth: number | undefined;
  readonly from: number | undefined; // ns: a range of time begins here
  readonly moved: boolean;
}

export interface PointerState {
  readonly hover?: Hit;
  readonly press?: Press;
}

// Where the pointer is in the pane, in pixels; the picture lies `scroll` pixels higher.
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly scroll: number;
}

export type PointerInput =
  | { readonly type: 'down'; readonly spot: Spot; readonly shift: boolean }
  | { readonly type: 'move'; readonly spot: Spot; readonly pressed: boolean }
  | { readonly type: 'up'; readonly spot: Spot }
  | { readonly type: 'double'; readonly spot: Spot }
  | { readonly type: 'cancel' }
  | { readonly type: 'leave' }
  | {
      readonly type: 'wheel';
      readonly spot: Spot;
      readonly dx: number;
      readonly dy: number;
      readonly lines: boolean; // counted in lines, not in pixels
      readonly shift: boolean;
      readonly ctrl: boolean;
      readonly zooms: readonly (Span | undefined)[]; // of the levels
    };

export type Effect =
  | { readonly type: 'hover'; readonly changed: boolean } // another block, or none; without a change the tip goes along
  | { readonly type: 'leave' }
  | { readonly type: 'grab' } // a drag begins
  | { readonly type: 'release' }
  | { readonly type: 'consume' } // the browser does nothing more about it
  | { readonly type: 'select'; readonly depth: number; readonly seen: Seen }
  | { readonly type: 'press lane'; readonly lane: LaneHit }
  | { readonly type: 'open'; readonly depth: number; readonly seen: Seen }
  | { readonly type: 'choose'; readonly depth: number; readonly span: Span }
  | { readonly type: 'pan'; readonly depth: number; readonly ns: number }
  | { readonly type: 'zoom'; readonly depth: number; readonly at: number; readonly factor: number }
  | { readonly type: 'scroll'; readonly top: number };

export type Step = readonly [state: PointerState, effects: readonly Effect[]];

export const NOWHERE: PointerState = {};

export function hitAt(picture: Picture, { x, y: inPane, scroll }: Spot): Hit | undefined {
  const y = inPane + scroll;
  const level = picture.levels.find((each) => y >= each.axisTop && y < each.tracksBottom + AXIS_HEIGHT / 2);
  if (level?.level === undefined) return undefined;
  const lane = hitLane(level.lanes, level.scale, x, y);
  if (lane === undefined && (x < level.scale.left || x > level.scale.left + level.scale.width)) return undefined;
  const row = level.tracks.find(({ top }) => y >= top && y < top + TRACK_HEIGHT);
  const index = row?.track === undefined ? undefined : hitBlock(row.track.blocks, level.scale, x, REACH);
  const upper = level.pair?.side === 'before' ? level.pair.path : undefined;
  const seen = index === undefined ? undefined : seenBlock(level.level, row!.track!.id, index, upper);
  return { depth: level.depth, level, seen, lane, at: toTime(level.scale, x) };
}

const sameBlock = (a: Hit | undefined, b: Hit | undefined): boolean =>
  a?.seen?.track === b?.seen?.track &&
  a?.seen?.index === b?.seen?.index &&
  (a?.seen === undefined ||
    (a.depth === b?.depth && (a.seen.before === undefined) === (b.seen?.before === undefined) && a.seen.start === b.seen?.start));

function hovered(state: PointerState, spot: Spot, picture: Picture): Step {
  const { hover: before, ...rest } = state;
  const hover = hitAt(picture, spot);
  const changed = !sameBlock(before, hover);
  return [hover === undefined ? rest : { ...rest, hover }, [{ type: 'hover', changed }]];
}

// A drag moves the level in time and the picture up and down; with Shift it chooses a range.
function dragged(state: PointerState, press: Press, spot: Spot, picture: Picture): Step {
  if (!press.moved && Math.hypot(spot.x - press.x, spot.y - press.y) < DRAG_FROM) return [state, []];
  const begun: Effect[] = press.moved ? [] : [{ type: 'grab' }];
  const moved = { ...state, press: { ...press, moved: true, lastX: spot.x } };
  const level = picture.levels.find(({ depth }) => depth === press.depth);
  if (level !== undefined && press.from !== undefined) {
    const to = toTime(level.scale, spot.x);
    return [moved, [...begun, { type: 'choose', depth: level.depth, span: [Math.min(press.from, to), Math.max(press.from, to)] }]];
  }
  const ns = level === undefined ? 0 : (press.lastX - spot.x) * nsPerPixel(level.scale);
  const pan: Effect[] = level === undefined ? [] : [{ type: 'pan', depth: level.depth, ns }];
  return [moved, [...begun, ...pan, { type: 'scroll', top: press.scroll - (spot.y - press.y) }]];
}

function released({ press, ...rest }: PointerState, spot: Spot, picture: Picture): Step {
  const hit = press === undefined || press.moved ? undefined : hitAt(picture, spot);
  return [
    rest,
    [
      { type: 'release' },
      ...(hit?.seen === undefined ? [] : [{ type: 'select' as const, depth: hit.depth, seen: hit.seen }]),
      ...(hit?.lane === undefined ? [] : [{ type: 'press lane' as const, lane: hit.lane }]),
    ],
  ];
}

// Beside the tracks the wheel scrolls, and where nothing is left to zoom out of.
function turned(state: PointerState, event: PointerInput & { type: 'wheel' }, picture: Picture): Step {
  const hit = hitAt(picture, event.spot);
  if (hit === undefined) return [state, []];
  const unit = event.lines ? WHEEL_LINE : 1;
  const [dx, dy] = event.shift ? [event.dy + event.dx, 0] : [event.dx, event.dy];
  if (event.zooms[hit.depth] === undefined && dy > 0 && !event.ctrl) return [state, []];
  const { depth, level, at } = hit;
  const act: Effect =
    Math.abs(dx) > Math.abs(dy)
      ? { type: 'pan', depth, ns: dx * unit * nsPerPixel(level.scale) }
      : { type: 'zoom', depth, at, factor: Math.exp(dy * unit * WHEEL_ZOOM) };
  const [next, effects] = hovered(state, event.spot, picture);
  return [next, [{ type: 'consume' }, act, ...effects]];
}

export function pointerStep(state: PointerState, event: PointerInput, picture: Picture): Step {
  switch (event.type) {
    case 'down': {
      const hit = hitAt(picture, event.spot);
      const { x, y, scroll } = event.spot;
      return [
        { ...state, press: { x, y, scroll, lastX: x, depth: hit?.depth, from: event.shift ? hit?.at : undefined, moved: false } },
        [],
      ];
    }
    case 'move':
      return state.press !== undefined && event.pressed
        ? dragged(state, state.press, event.spot, picture)
        : hovered(state, event.spot, picture);
    case 'up':
      return released(state, event.spot, picture);
    case 'double': {
      const hit = hitAt(picture, event.spot);
      return [state, hit?.seen === undefined ? [] : [{ type: 'open', depth: hit.depth, seen: hit.seen }]];
    }
    case 'cancel': {
      const { press: _press, ...rest } = state;
      return [rest, [{ type: 'release' }]];
    }
    case 'leave': {
      const { hover: _hover, ...rest } = state;
      return [rest, [{ type: 'leave' }]];
    }
    case 'wheel':
      return turned(state, event, picture);
  }
}
