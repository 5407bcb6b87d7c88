// How the pane follows the cursor: which changes scroll it, and how far. Pure.
import type { Picture } from '../layout/layout';
import type { InState, InView, SomeView } from '../state/in_state';

const MARGIN = 8; // pixels above and below a level

type Followed = InState<'levels' | 'beside' | 'leading'> & InView<'path' | 'cursor'>;

// Levels that arrive may be higher than their places were: until somebody scrolls (`following` is false then), the cursor stays in view.
export function followCursor(
  following: boolean,
  state: Followed,
  before: Followed,
): { readonly following: boolean; readonly scroll: boolean } {
  const [now, then] = [state.view.cursor, before.view.cursor];
  const moved =
    state.view.path !== before.view.path || now?.depth !== then?.depth || (now?.before === undefined) !== (then?.before === undefined);
  const doubled = now !== undefined && state.beside.levels.length > before.beside.levels.length;
  const grown = state.levels.length > before.levels.length || doubled;
  const next = !state.leading && (following || moved);
  return { following: next, scroll: !state.leading && (moved || grown || (next && state.levels !== before.levels)) };
}

// From the top of the picture, in a pane that is `height` high: the level of the cursor, and the one that it opened, are in view.
export function scrolledTo({ levels }: Picture, view: SomeView<'path' | 'cursor'>, top: number, height: number): number {
  const { path, cursor } = view;
  const both = levels.filter(({ depth }) => depth === Math.max(path.length, cursor?.depth ?? 0));
  const upper = cursor?.before !== undefined;
  const own = levels.filter(({ depth, pair }) => depth === cursor?.depth && (pair?.side === 'before') === upper);
  return [both, own].reduce((at, shown) => {
    const [first, last] = [shown[0], shown.at(-1)];
    if (first === undefined || last === undefined) return at;
    const [from, to] = [first.titleTop - MARGIN, last.bottom + MARGIN];
    return Math.min(to > at + height ? to - height : at, from);
  }, top);
}
