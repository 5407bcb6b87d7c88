// The cursor: where the keys move it, and what stands under it when other data arrives. Pure.
import { panned } from '../layout/scale';
import { extentAt, type Axes } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import type { Action } from '../state/state';
import { navigate, placesOf, type Direction } from './navigate';
import { cursorOn, levelAt, nowUnder, seenUnderCursor, shownLevels, underCursor, type Drawn, type Seen } from './shown';

export interface SeenAt {
  readonly depth: number;
  readonly seen: Seen;
}

// `width`: of a track, pixels.
export function underNow(state: InState<'levels' | 'beside'> & InView<'zooms' | 'cursor'>, width: number): SeenAt | undefined {
  const seen = seenUnderCursor(state, width);
  return seen === undefined ? undefined : { depth: state.view.cursor!.depth, seen };
}

// The view follows the cursor out of a zoomed part.
function showCursor(state: Axes & InView<'zooms'>, { depth, seen }: SeenAt): Action[] {
  const zoom = state.view.zooms[depth];
  const extent = extentAt(state, depth);
  if (zoom === undefined || extent === undefined) return [];
  if (seen.start + seen.duration > zoom[0] && seen.start < zoom[1]) return [];
  const middle = seen.start + seen.duration / 2;
  return [{ type: 'zoom', depth, span: panned(zoom, extent, middle - (zoom[0] + zoom[1]) / 2) }];
}

export const select = (state: Axes & InView<'zooms'>, at: SeenAt): Action[] => [
  { type: 'move', cursor: cursorOn(at.depth, at.seen) },
  ...showCursor(state, at),
];

export function move(state: Drawn & InView<'cursor'>, width: number, direction: Direction): Action[] {
  const cursor = navigate(placesOf(shownLevels(state, width)), state.view.cursor, direction);
  if (cursor === undefined) return [];
  const now = underNow({ ...state, view: { ...state.view, cursor } }, width);
  return [{ type: 'move', cursor }, ...(now === undefined ? [] : showCursor(state, now))];
}

type Placed = Drawn & InState<'leading'> & InView<'cursor'>;

// A level that was entered gets the cursor when it arrives. Idle time and merged blocks have no path to be found by again: when finer data
// arrives, what stands there now is under the cursor.
export function cursorAfter(state: Placed, before: InState<'levels' | 'beside'>, width: number): Action[] {
  const { cursor, path } = state.view;
  const arrived = state.levels !== before.levels;
  if (!arrived && state.beside.levels === before.beside.levels) return [];
  if (cursor === undefined)
    return arrived && !state.leading && path.length > 0 && state.levels[path.length] !== undefined ? move(state, width, 'down') : [];
  if (cursor.segment !== '') return [];
  const level = levelAt(state, cursor.depth, cursor.before !== undefined, width);
  if (level === undefined || underCursor(level, cursor) !== undefined) return [];
  const seen = nowUnder(level, cursor);
  return seen === undefined ? [] : [{ type: 'move', cursor: cursorOn(cursor.depth, seen) }];
}
