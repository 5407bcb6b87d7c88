// Which part of each level is seen, and which part is chosen to be summed. Pure: what a zoom does to the state.
import { panned, scaleOf, zoomed } from '../layout/scale';
import type { Span } from '../server/messages';
import { extentAt, isBeside, type Axes } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import type { Action } from '../state/state';
import { underNow } from './cursor';
import type { Seen } from './shown';

type Zoomed = Axes & InView<'zooms'>;
type Keyed = Zoomed & InView<'path' | 'cursor'>;

const CHOSEN_MARGIN = 0.05; // of a block that is zoomed to
const LEAST_MARGIN = 10; // ns

// The level that keys without a pointer act on.
export const depthOf = ({ view }: InView<'path' | 'cursor'>): number => view.cursor?.depth ?? view.path.length;

export const viewAt = (state: Zoomed, depth: number): Span | undefined => state.view.zooms[depth] ?? extentAt(state, depth);

function zoomTo(state: Axes, depth: number, span: Span): Action[] {
  const extent = extentAt(state, depth);
  if (extent === undefined) return [];
  const whole = span[0] <= extent[0] && span[1] >= extent[1];
  return [{ type: 'zoom', depth, ...(whole ? {} : { span }) }];
}

// `width`: of a track, pixels.
export function zoomAt(state: Zoomed, width: number, depth: number, at: number, factor: number): Action[] {
  const [view, extent] = [viewAt(state, depth), extentAt(state, depth)];
  if (view === undefined || extent === undefined) return [];
  const gap = isBeside(state.view) ? undefined : state.levels[depth]?.gap;
  const isShort = scaleOf(view, 0, width, gap).gap !== undefined;
  return zoomTo(state, depth, zoomed(view, extent, at, factor, isShort ? gap : undefined));
}

export function panBy(state: Zoomed, depth: number, ns: number): Action[] {
  const extent = extentAt(state, depth);
  const zoom = state.view.zooms[depth];
  return extent === undefined || zoom === undefined ? [] : zoomTo(state, depth, panned(zoom, extent, ns));
}

// Around the cursor.
export function zoomBy(state: Keyed, width: number, factor: number): Action[] {
  const depth = depthOf(state);
  const view = viewAt(state, depth);
  if (view === undefined) return [];
  const seen = underNow(state, width)?.seen;
  const middle = seen === undefined ? (view[0] + view[1]) / 2 : seen.start + seen.duration / 2;
  return zoomAt(state, width, depth, Math.min(view[1], Math.max(view[0], middle)), factor);
}

// By a share of the view.
export function panShare(state: Keyed, share: number): Action[] {
  const depth = depthOf(state);
  const zoom = state.view.zooms[depth];
  return zoom === undefined ? [] : panBy(state, depth, (zoom[1] - zoom[0]) * share);
}

export function zoomToBlock(state: Axes, depth: number, { start, duration }: Seen): Action[] {
  const margin = Math.max(LEAST_MARGIN, duration * CHOSEN_MARGIN);
  const extent = extentAt(state, depth) ?? [0, 0];
  return zoomTo(state, depth, [Math.max(extent[0], start - margin), Math.min(extent[1], start + duration + margin)]);
}

export function choose(state: Axes, depth: number, [from, to]: Span): Action[] {
  const extent = extentAt(state, depth);
  if (extent === undefined) return [];
  const span: Span = [Math.max(extent[0], from), Math.min(extent[1], to)];
  return span[1] - span[0] >= 1 ? [{ type: 'range', depth, span }] : [];
}

export function chooseSeen(state: Keyed & InState<'range'>): Action[] {
  const depth = state.range?.depth ?? depthOf(state);
  const view = viewAt(state, depth);
  return view === undefined ? [] : choose(state, depth, view);
}

export function zoomToChosen(state: Keyed & InState<'range'>, width: number): Action[] {
  const { range } = state;
  if (range !== undefined) return zoomTo(state, range.depth, range.span);
  const now = underNow(state, width);
  return now === undefined ? [] : zoomToBlock(state, now.depth, now.seen);
}

// The level of the cursor; where that is whole already, all of them.
export function fit(state: InView<'path' | 'cursor' | 'zooms'>): Action[] {
  const { zooms } = state.view;
  const depth = depthOf(state);
  const zoomed = zooms[depth] !== undefined ? [depth] : [...zooms.keys()].filter((each) => zooms[each] !== undefined);
  return zoomed.map((each) => ({ type: 'zoom', depth: each }));
}
