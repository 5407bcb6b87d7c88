// Where everything on the canvas stands: levels one below the other, their axes, tracks, rectangles, labels that fit, connectors. Pure; in
// CSS pixels of the whole picture, of which the screen may show a part.
import { bisectRight, range, tickStep } from 'd3-array';
import type { Lanes } from '../server/lane_messages';
import type { BlockColumns, Level, Track } from '../server/level_messages';
import type { Path, Span } from '../server/messages';
import { layoutLanes, type LaneRow } from './lanes';
import { nsPerPixel, scaleOf, toPixel, toTime, type Scale } from './scale';

export const TRACK_HEIGHT = 28;
export const TRACK_GAP = 6;
export const TITLE_HEIGHT = 20;
export const AXIS_HEIGHT = 20;
export const CONNECTOR_HEIGHT = 38;
export const PADDING = 12;
export const TEXT_PADDING = 6; // inside a block
const NOTE_HEIGHT = 18;
const SKELETON_TRACKS = 2;
const TICK_DISTANCE = 96; // pixels between two numbers of an axis, about

// One of two levels on one axis: the older timeline's stands above the newer one's.
export interface PairPart {
  readonly side: 'before' | 'after';
  readonly origin: number; // ns: where the axis has its zero
  readonly path?: Path; // of the upper level, in its own step
  readonly absent?: boolean; // the upper step has no such block: there is a title and nothing else
  readonly stepEnd?: number; // ns: of the upper step
}

export interface ShownLevel {
  readonly depth?: number; // absent: its position
  readonly title: string;
  readonly level: Level | undefined; // undefined: still loading
  readonly view: Span; // what the width stands for; [0, 1] while loading
  readonly gap?: Span | undefined; // of the level: time in which nothing of it happens
  readonly lanes?: Lanes | undefined; // below its tracks
  readonly toggled?: readonly string[]; // of them
  readonly open?: string | undefined; // the segment of the block that the next level shows
  readonly pair?: PairPart;
}

export interface TrackLayout {
  readonly track: Track | undefined; // undefined: a place for one, while loading
  readonly top: number;
}

export interface LevelLayout {
  readonly depth: number;
  readonly title: string;
  readonly titleTop: number;
  readonly axisTop: number;
  readonly tracksTop: number;
  readonly tracks: readonly TrackLayout[];
  readonly lanes: readonly LaneRow[];
  readonly tracksBottom: number; // with the lanes
  readonly bottom: number; // of its note
  readonly scale: Scale;
  readonly level: Level | undefined;
  readonly open?: string | undefined;
  readonly pair?: PairPart | undefined;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly left: number; // where the tracks begin; their names stand before it
  readonly trackWidth: number;
  readonly levels: readonly LevelLayout[];
}

// Room for the names of tracks: a part of a narrow page, enough for "GPU 0 stream 7" on a wide one.
export const nameWidth = (width: number): number => Math.round(Math.min(136, Math.max(24, width * 0.14)));

export const trackWidth = (width: number): number => Math.max(1, width - nameWidth(width) - 2 * PADDING);

// With the room between it and the level above; of a pair both.
export function levelHeight(tracks: number, pair: boolean): number {
  const alone = TITLE_HEIGHT + tracks * (TRACK_HEIGHT + TRACK_GAP) - TRACK_GAP;
  return (pair ? 2 * alone + NOTE_HEIGHT : alone) + AXIS_HEIGHT + CONNECTOR_HEIGHT;
}

export function layoutPicture(shown: readonly ShownLevel[], width: number): Picture {
  const left = PADDING + nameWidth(width);
  const levels: LevelLayout[] = [];
  let top = PADDING;
  for (const [position, { depth = position, title, level, view, gap, lanes: below, toggled = [], open, pair }] of shown.entries()) {
    const axisTop = top + TITLE_HEIGHT;
    const tracksTop = axisTop + (pair?.side === 'after' ? 0 : AXIS_HEIGHT); // the axis stands above both
    const absent = pair?.absent === true;
    const rows = level === undefined ? Array.from({ length: absent ? 0 : SKELETON_TRACKS }, () => undefined) : level.tracks;
    const tracks = rows.map((track, row) => ({ track, top: tracksTop + row * (TRACK_HEIGHT + TRACK_GAP) }));
    const ownBottom = tracksTop + (absent ? 0 : Math.max(1, rows.length) * (TRACK_HEIGHT + TRACK_GAP) - TRACK_GAP);
    const lanes = layoutLanes(level === undefined ? undefined : below, toggled, ownBottom + TRACK_GAP);
    const tracksBottom = lanes.rows.length === 0 ? ownBottom : lanes.bottom;
    const bottom = tracksBottom + NOTE_HEIGHT;
    const scale = scaleOf(view, left, trackWidth(width), gap);
    const places = { titleTop: top, axisTop, tracksTop, tracks, lanes: lanes.rows, tracksBottom, bottom };
    levels.push({ depth, title, ...places, scale, level, open, pair });
    top = bottom + (pair?.side === 'before' ? 0 : CONNECTOR_HEIGHT - NOTE_HEIGHT);
  }
  const height = (levels.at(-1)?.bottom ?? top) + PADDING;
  return { width, height, left, trackWidth: trackWidth(width), levels };
}

export interface Rect {
  readonly index: number; // of the block in its columns
  readonly x: number;
  readonly width: number;
}

const end = (blocks: BlockColumns, index: number): number => blocks.start[index]! + blocks.duration[index]!;

// Blocks of a track lie one after the other: the first one that is seen is the one that starts before the view, or the next.
export function firstSeen(blocks: BlockColumns, from: number): number {
  const next = bisectRight(blocks.start as number[], from);
  return next > 0 && end(blocks, next - 1) > from ? next - 1 : next;
}

// The seen blocks as rectangles, cut at the edges of the view, exact to a fraction of a pixel.
export function layoutTrack(blocks: BlockColumns, scale: Scale): Rect[] {
  const [from, to] = scale.view;
  const rects: Rect[] = [];
  for (let index = firstSeen(blocks, from); index < blocks.start.length && blocks.start[index]! < to; index++) {
    const start = Math.max(from, blocks.start[index]!);
    const until = Math.min(to, end(blocks, index));
    const x = toPixel(scale, start);
    rects.push({ index, x, width: Math.max(0, toPixel(scale, until) - x) });
  }
  return rects;
}

// The block below a point; a block narrower than the hand is precise is hit when the pointer is within `reach` pixels.
export function hitBlock(blocks: BlockColumns, scale: Scale, x: number, reach: number): number | undefined {
  if (blocks.start.length === 0) return undefined;
  const at = toTime(scale, x);
  const inside = bisectRight(blocks.start as number[], at) - 1;
  const distance = (index: number): number => {
    if (index < 0 || index >= blocks.start.length) return Infinity;
    const from = toPixel(scale, blocks.start[index]!);
    const to = toPixel(scale, end(blocks, index));
    return x < from ? from - x : Math.max(0, x - to);
  };
  const nearest = [inside, inside + 1].reduce((best, each) => (distance(each) < distance(best) ? each : best));
  return distance(nearest) <= reach ? nearest : undefined;
}

export interface Tick {
  readonly x: number;
  readonly ns: number;
}

// Round times about TICK_DISTANCE apart, counted from `origin`, and the distance between two of them; none in a shortened gap.
export function layoutAxis(scale: Scale, origin = 0): { ticks: readonly Tick[]; step: number } {
  const { view, gap } = scale;
  const seen = nsPerPixel(scale) * scale.width;
  const step = tickStep(0, seen, Math.max(1, Math.round(scale.width / TICK_DISTANCE)));
  const sides: readonly Span[] =
    gap === undefined
      ? [view]
      : [
          [view[0], gap[0]],
          [gap[1], view[1]],
        ];
  const times = sides.flatMap(([from, to]) =>
    range(Math.ceil((from - origin) / step), Math.floor((to - origin) / step) + 1).map((tick) => tick * step),
  );
  return { step, ticks: times.map((ns) => ({ ns, x: toPixel(scale, ns + origin) })) };
}

export interface Connector {
  readonly from: readonly [left: number, right: number]; // in the level above
  readonly to: readonly [left: number, right: number];
  readonly top: number;
  readonly bottom: number;
}

// The trapezoid from a level down to the part of it that the next level shows. A part outside of the view above hangs on its edge.
export function connectorBetween(above: LevelLayout, below: LevelLayout): Connector | undefined {
  if (above.level === undefined || below.level === undefined) return undefined;
  const { left, width } = above.scale;
  const within = (x: number): number => Math.min(left + width, Math.max(left, x));
  const [from, to] = below.scale.view;
  return {
    from: [within(toPixel(above.scale, from)), within(toPixel(above.scale, to))],
    to: [left, left + width],
    top: above.tracksBottom + 2,
    bottom: below.axisTop + AXIS_HEIGHT - 4,
  };
}

export type Measure = (text: string) => number; // pixels

const LEAST_MIDDLE = 8; // letters: shorter labels are cut at the end, but for an index there

// A name's end tells it from its neighbours, its beginning what it is: what is left out lies between. "SwitchTran…Block_12".
function cutInside(text: string, most: number): string {
  const index = /[^a-zA-Z]\d+$/.exec(text)?.[0].length ?? 0;
  const wanted = most >= LEAST_MIDDLE ? Math.max(index, Math.floor(most * 0.4)) : index;
  const tail = wanted + 2 <= most ? wanted : 0;
  return `${text.slice(0, most - tail)}…${tail === 0 ? '' : text.slice(-tail)}`;
}

// The longest of the wordings that fits, the last one cut if none does, nothing if not even three letters fit.
export function labelThatFits(wordings: readonly string[], room: number, measure: Measure): string {
  const fitting = wordings.find((text) => measure(text) <= room);
  if (fitting !== undefined) return fitting;
  const shortest = wordings.at(-1) ?? '';
  for (let most = Math.floor((room / measure(shortest)) * shortest.length) - 1; most >= 3; most--) {
    const cut = cutInside(shortest, most);
    if (measure(cut) <= room) return cut;
  }
  return '';
}
