// The cursor: where the keys move it, and what stands under it when other data arrives.
import { extentAt } from './beside';
import { navigate, placesOf, type Direction } from './navigate';
import { panned } from './scale';
import { cursorOn, levelAt, nowUnder, seenUnderCursor, shownLevels, underCursor, type Seen } from './shown';
import type { Store } from './store';

export interface SeenAt {
  readonly depth: number;
  readonly seen: Seen;
}

export interface Cursor {
  readonly underNow: () => SeenAt | undefined;
  readonly select: (depth: number, seen: Seen) => void;
  readonly move: (direction: Direction) => void;
}

// `width`: of a track, pixels.
export function createCursor(store: Store, width: () => number): Cursor {
  function underNow(): SeenAt | undefined {
    const state = store.get();
    const seen = seenUnderCursor(state, width());
    return seen === undefined ? undefined : { depth: state.view.cursor!.depth, seen };
  }

  // The view follows the cursor out of a zoomed part.
  function showCursor(depth: number, seen: Seen): void {
    const state = store.get();
    const zoom = state.view.zooms[depth];
    const extent = extentAt(state, depth);
    if (zoom === undefined || extent === undefined) return;
    const until = seen.start + seen.duration;
    if (until > zoom[0] && seen.start < zoom[1]) return;
    const middle = seen.start + seen.duration / 2;
    store.dispatch({ type: 'zoom', depth, span: panned(zoom, extent, middle - (zoom[0] + zoom[1]) / 2) });
  }

  function select(depth: number, seen: Seen): void {
    store.dispatch({ type: 'move', cursor: cursorOn(depth, seen) });
    showCursor(depth, seen);
  }

  function move(direction: Direction): void {
    const state = store.get();
    const cursor = navigate(placesOf(shownLevels(state, width())), state.view.cursor, direction);
    if (cursor === undefined) return;
    store.dispatch({ type: 'move', cursor });
    const now = underNow();
    if (now !== undefined) showCursor(now.depth, now.seen);
  }

  // A level that was entered gets the cursor when it arrives. Idle time and merged blocks have no path to be found by again: when finer data
  // arrives, what stands there now is under the cursor.
  store.subscribe((state, before) => {
    const { cursor, path } = state.view;
    if (state.levels === before.levels && state.beside.levels === before.beside.levels) return;
    if (
      cursor === undefined &&
      state.levels !== before.levels &&
      !state.leading &&
      path.length > 0 &&
      state.levels[path.length] !== undefined
    )
      return move('down');
    if (cursor === undefined || cursor.segment !== '') return;
    const level = levelAt(state, cursor.depth, cursor.before !== undefined, width());
    if (level === undefined || underCursor(level, cursor) !== undefined) return;
    const seen = nowUnder(level, cursor);
    if (seen !== undefined) store.dispatch({ type: 'move', cursor: cursorOn(cursor.depth, seen) });
  });

  return { underNow, select, move };
}
