// Time to pixels and back, on one axis for host and device. A device may run far behind its host: then a level would be mostly the time
// between the two, and both would be slivers. Such a gap, in which nothing of the level happens on any track, is drawn at a fixed width, and
// the axis says how long it is. Pure.
import type { Level } from '../server/level_messages';
import type { Span } from '../server/messages';

export interface Scale {
  readonly view: Span; // ns
  readonly left: number; // pixels
  readonly width: number;
  readonly gap?: Span; // the part of the view that is drawn GAP_WIDTH wide
}

export const GAP_WIDTH = 64; // pixels: room for its time
const LEAST_GAP = 0.3; // of a level's extent: shorter gaps are drawn as long as they are
const MIN_SPAN = 20; // ns: finer than any clock of a trace

// The longest time in which nothing of the level happens. Idle time of a host track is the level's own; that of a device is not.
export function gapOf({ extent, tracks }: Level): Span | undefined {
  const busy: Span[] = [];
  for (const { kind, blocks } of tracks) {
    const idle = kind === 'host' ? -1 : blocks.kinds.indexOf('idle');
    blocks.start.forEach((start, index) => {
      if (blocks.kind[index] !== idle) busy.push([start, start + blocks.duration[index]!]);
    });
  }
  busy.sort((a, b) => a[0] - b[0]);
  let gap: Span | undefined;
  let reached = extent[0];
  for (const [start, end] of busy) {
    if (start - reached > (gap === undefined ? LEAST_GAP * (extent[1] - extent[0]) : gap[1] - gap[0])) gap = [reached, start];
    reached = Math.max(reached, end);
  }
  return gap;
}

// What of a gap is in the view; nothing where the view shows nothing else.
function seenGap(view: Span, gap: Span | undefined): Span | undefined {
  if (gap === undefined) return undefined;
  const seen: Span = [Math.max(view[0], gap[0]), Math.min(view[1], gap[1])];
  return seen[0] < seen[1] && seen[1] - seen[0] < view[1] - view[0] ? seen : undefined;
}

export function scaleOf(view: Span, left: number, width: number, gap?: Span): Scale {
  const seen = seenGap(view, gap);
  const shortened = seen !== undefined && ((seen[1] - seen[0]) / (view[1] - view[0])) * width > GAP_WIDTH && width > 2 * GAP_WIDTH;
  return { view, left, width, ...(shortened ? { gap: seen } : {}) };
}

// Time that a pixel outside the gap stands for.
export const nsPerPixel = ({ view, width, gap }: Scale): number =>
  gap === undefined ? (view[1] - view[0]) / width : (view[1] - view[0] - (gap[1] - gap[0])) / (width - GAP_WIDTH);

// As many pixels as a picture without a gap would need to be as fine.
export const finePixels = (scale: Scale): number => Math.ceil((scale.view[1] - scale.view[0]) / nsPerPixel(scale));

export function toPixel(scale: Scale, ns: number): number {
  const { view, left, width, gap } = scale;
  if (gap === undefined) return left + ((ns - view[0]) / (view[1] - view[0])) * width;
  const each = nsPerPixel(scale);
  if (ns <= gap[0]) return left + (ns - view[0]) / each;
  if (ns >= gap[1]) return left + width - (view[1] - ns) / each;
  return left + (gap[0] - view[0]) / each + ((ns - gap[0]) / (gap[1] - gap[0])) * GAP_WIDTH;
}

export function toTime(scale: Scale, x: number): number {
  const { view, left, width, gap } = scale;
  if (gap === undefined) return view[0] + ((x - left) / width) * (view[1] - view[0]);
  const each = nsPerPixel(scale);
  const [from, to] = [toPixel(scale, gap[0]), toPixel(scale, gap[1])];
  if (x <= from) return view[0] + (x - left) * each;
  if (x >= to) return view[1] - (left + width - x) * each;
  return gap[0] + ((x - from) / GAP_WIDTH) * (gap[1] - gap[0]);
}

// `by` ns further, the gap stepped over.
function advanced(at: number, by: number, gap: Span | undefined): number {
  const to = at + by;
  if (gap === undefined) return to;
  const length = gap[1] - gap[0];
  if (by >= 0 && at <= gap[0] && to > gap[0]) return to + length;
  if (by < 0 && at >= gap[1] && to < gap[1]) return to - length;
  return to;
}

// A view that keeps the time at `at` where it is while what is seen beside a gap that is drawn short changes by `factor`; never finer than
// MIN_SPAN, never wider than the extent.
export function zoomed(view: Span, extent: Span, at: number, factor: number, gap?: Span): Span {
  const seen = at > (gap?.[0] ?? Infinity) && at < (gap?.[1] ?? -Infinity) ? undefined : seenGap(view, gap);
  if (seen === undefined) {
    const whole = extent[1] - extent[0];
    const span = Math.min(whole, Math.max(Math.min(whole, MIN_SPAN), (view[1] - view[0]) * factor));
    const share = (at - view[0]) / (view[1] - view[0]);
    return within([at - share * span, at - share * span + span], extent);
  }
  const length = seen[1] - seen[0];
  const before = at - view[0] - (seen[1] <= at ? length : 0);
  const after = view[1] - at - (seen[0] >= at ? length : 0);
  const least = Math.min(1, Math.max(factor, MIN_SPAN / (before + after)));
  const by = factor < 1 ? least : factor;
  return [Math.max(extent[0], advanced(at, -before * by, gap)), Math.min(extent[1], advanced(at, after * by, gap))];
}

export const panned = (view: Span, extent: Span, by: number): Span => within([view[0] + by, view[1] + by], extent);

// Moved into the extent, the span kept.
function within([from, to]: Span, extent: Span): Span {
  const span = Math.min(to - from, extent[1] - extent[0]);
  const start = Math.min(Math.max(from, extent[0]), extent[1] - span);
  return [start, start + span];
}
