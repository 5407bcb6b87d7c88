// Which part of each level is seen, and which part is chosen to be summed.
import { extentAt, isBeside } from './beside';
import type { Span } from './messages';
import { panned, scaleOf, zoomed } from './scale';
import type { SeenAt } from './cursor';
import type { Seen } from './shown';
import type { State } from './state';
import type { Store } from './store';

export interface Zooms {
  readonly zoomAt: (depth: number, at: number, factor: number) => void;
  readonly zoomBy: (factor: number) => void; // around the cursor
  readonly panBy: (depth: number, ns: number) => void;
  readonly panShare: (share: number) => void; // of the view
  readonly zoomToBlock: (depth: number, seen: Seen) => void;
  readonly zoomToChosen: () => void;
  readonly choose: (depth: number, span: Span) => void;
  readonly chooseSeen: () => void;
  readonly fit: () => void;
}

// The level that keys without a pointer act on.
export const depthOf = (state: State): number => state.view.cursor?.depth ?? state.view.path.length;

export const viewAt = (state: State, depth: number): Span | undefined => state.view.zooms[depth] ?? extentAt(state, depth);

// `width`: of a track, pixels.
export function createZooms(store: Store, width: () => number, underNow: () => SeenAt | undefined): Zooms {
  function setZoom(depth: number, span: Span): void {
    const extent = extentAt(store.get(), depth);
    if (extent === undefined) return;
    const whole = span[0] <= extent[0] && span[1] >= extent[1];
    store.dispatch({ type: 'zoom', depth, ...(whole ? {} : { span }) });
  }

  function zoomAt(depth: number, at: number, factor: number): void {
    const state = store.get();
    const [view, extent] = [viewAt(state, depth), extentAt(state, depth)];
    if (view === undefined || extent === undefined) return;
    const gap = isBeside(state.view) ? undefined : state.levels[depth]?.gap;
    const isShort = scaleOf(view, 0, width(), gap).gap !== undefined;
    setZoom(depth, zoomed(view, extent, at, factor, isShort ? gap : undefined));
  }

  function panBy(depth: number, ns: number): void {
    const state = store.get();
    const extent = extentAt(state, depth);
    const zoom = state.view.zooms[depth];
    if (extent !== undefined && zoom !== undefined) setZoom(depth, panned(zoom, extent, ns));
  }

  function zoomBy(factor: number): void {
    const state = store.get();
    const depth = depthOf(state);
    const view = viewAt(state, depth);
    if (view === undefined) return;
    const seen = underNow()?.seen;
    const middle = seen === undefined ? (view[0] + view[1]) / 2 : seen.start + seen.duration / 2;
    zoomAt(depth, Math.min(view[1], Math.max(view[0], middle)), factor);
  }

  function panShare(share: number): void {
    const state = store.get();
    const zoom = state.view.zooms[depthOf(state)];
    if (zoom !== undefined) panBy(depthOf(state), (zoom[1] - zoom[0]) * share);
  }

  function zoomToBlock(depth: number, seen: Seen): void {
    const margin = Math.max(10, seen.duration * 0.05);
    const extent = extentAt(store.get(), depth) ?? [0, 0];
    setZoom(depth, [Math.max(extent[0], seen.start - margin), Math.min(extent[1], seen.start + seen.duration + margin)]);
  }

  function choose(depth: number, [from, to]: Span): void {
    const extent = extentAt(store.get(), depth);
    if (extent === undefined) return;
    const span: Span = [Math.max(extent[0], from), Math.min(extent[1], to)];
    if (span[1] - span[0] >= 1) store.dispatch({ type: 'range', depth, span });
  }

  function chooseSeen(): void {
    const state = store.get();
    const depth = state.range?.depth ?? depthOf(state);
    const view = viewAt(state, depth);
    if (view !== undefined) choose(depth, view);
  }

  function zoomToChosen(): void {
    const { range } = store.get();
    const now = underNow();
    if (range !== undefined) setZoom(range.depth, range.span);
    else if (now !== undefined) zoomToBlock(now.depth, now.seen);
  }

  function fit(): void {
    const state = store.get();
    const depth = depthOf(state);
    if (state.view.zooms[depth] !== undefined) return store.dispatch({ type: 'zoom', depth });
    state.view.zooms.forEach((zoom, each) => {
      if (zoom !== undefined) store.dispatch({ type: 'zoom', depth: each });
    });
  }

  return { zoomAt, zoomBy, panBy, panShare, zoomToBlock, zoomToChosen, choose, chooseSeen, fit };
}
