// Where the arrow keys lead: from block to block in a track, from track to track, from level to level. Pure.
import { firstSeen, type ShownLevel } from '../layout/layout';
import { kindOf, stageOf } from '../server/columns';
import type { BlockColumns, Level, Track } from '../server/level_messages';
import type { Path } from '../server/messages';
import type { Cursor } from '../state/address';
import { cursorOn, seenBlock, underCursor } from './shown';

export type Direction = 'left' | 'right' | 'up' | 'down' | 'home' | 'end';

// Idle time is shown, but arrows pass over it: it is no work to open.
const stops = (blocks: BlockColumns, index: number): boolean => kindOf(blocks, index) !== 'idle';

function scan(blocks: BlockColumns, from: number, by: 1 | -1): number | undefined {
  for (let index = from; index >= 0 && index < blocks.start.length; index += by) if (stops(blocks, index)) return index;
  return undefined;
}

function nearest(blocks: BlockColumns, time: number): number | undefined {
  const at = Math.min(firstSeen(blocks, time), blocks.start.length - 1);
  const [before, after] = [scan(blocks, at, -1), scan(blocks, at, 1)];
  if (before === undefined || after === undefined) return before ?? after;
  const distance = (index: number): number =>
    Math.max(blocks.start[index]! - time, time - blocks.start[index]! - blocks.duration[index]!, 0);
  return distance(before) <= distance(after) ? before : after;
}

// A level as it stands among the others, from the top of the picture.
export interface Place {
  readonly depth: number;
  readonly level: Level | undefined; // undefined while it is loading, and where there is none
  readonly before?: Path | undefined; // of the upper timeline: the path of the level there
  readonly open?: string | undefined; // the segment of the block that the next level shows
}

export const placesOf = (shown: readonly ShownLevel[]): Place[] =>
  shown.map(({ depth, level, open, pair }, position) => ({
    depth: depth ?? position,
    level,
    open,
    before: pair?.side === 'before' ? pair.path : undefined,
  }));

const on = ({ level, depth, before }: Place, track: Track, index: number | undefined): Cursor | undefined => {
  const seen = index === undefined || level === undefined ? undefined : seenBlock(level, track.id, index, before);
  return seen === undefined ? undefined : cursorOn(depth, seen);
};

const hasStops = (track: Track): boolean => scan(track.blocks, 0, 1) !== undefined;

function first(place: Place): Cursor | undefined {
  const track = place.level?.tracks.find(hasStops);
  return track === undefined ? undefined : on(place, track, scan(track.blocks, 0, 1));
}

// The stage of this step's own work that takes most time, on the host or on the device, whichever takes longer for it: what bounds a step may be
// either. A stage may come in many blocks.
export function leadingStage({ tracks }: Level): string | undefined {
  const sums = new Map<string, { host: number; device: number }>();
  for (const { kind, blocks } of tracks) {
    blocks.busy.forEach((busy, index) => {
      const stage = stageOf(blocks, index);
      if (kindOf(blocks, index) !== 'stage' || stage === 'earlier_step') return;
      const { host, device } = sums.get(stage) ?? { host: 0, device: 0 };
      sums.set(stage, kind === 'host' ? { host: host + busy, device } : { host, device: device + busy });
    });
  }
  const ranked = [...sums].map(([stage, { host, device }]) => ({ stage, time: Math.max(host, device) }));
  return ranked.sort((a, b) => b.time - a.time)[0]?.stage;
}

export interface Found {
  readonly track: Track;
  readonly index: number;
  readonly busy: number;
}

// Of the blocks that can be opened.
export function widestOf(level: Level, looked: (stage: string) => boolean): Found | undefined {
  let best: Found | undefined;
  for (const track of level.tracks) {
    track.blocks.open.forEach((open, index) => {
      const busy = track.blocks.busy[index]!;
      if (open === 1 && looked(stageOf(track.blocks, index)) && (best === undefined || busy > best.busy)) best = { track, index, busy };
    });
  }
  return best;
}

// Where a walk begins: in the step at the stage that takes most time, elsewhere at the widest block that can be opened, for it is most likely
// what is looked for; else at the first.
function widest(place: Place, level: Level): Cursor | undefined {
  const leading = leadingStage(level);
  const best = widestOf(level, (stage) => leading === undefined || stage === leading);
  return best === undefined ? first(place) : on(place, best.track, best.index);
}

// The open block of a level, on the lowest track that shows it: what the next level hangs on.
function openBlock(place: Place): Cursor | undefined {
  const { level, open } = place;
  if (level === undefined || open === undefined) return undefined;
  const row = level.tracks.findLast((track) => track.blocks.segment.includes(open));
  return row === undefined ? first(place) : on(place, row, row.blocks.segment.indexOf(open));
}

// Out of the topmost track: to the level above, or to the other timeline at the same time.
function upFrom(places: readonly Place[], at: number, time: number): Cursor | undefined {
  const above = places.slice(0, at).findLast(({ level }) => level !== undefined);
  if (above === undefined || above.depth !== places[at]!.depth) return above === undefined ? undefined : openBlock(above);
  const track = above.level?.tracks.findLast(hasStops);
  return track === undefined ? undefined : on(above, track, nearest(track.blocks, time));
}

function downFrom(places: readonly Place[], at: number, time: number): Cursor | undefined {
  const below = places.slice(at + 1).find(({ level }) => level !== undefined);
  if (below === undefined || below.depth !== places[at]!.depth) return below === undefined ? undefined : first(below);
  const track = below.level?.tracks.find(hasStops);
  return track === undefined ? undefined : on(below, track, nearest(track.blocks, time));
}

const isOf = (place: Place, { depth, before }: Cursor): boolean =>
  place.depth === depth && (place.before !== undefined) === (before !== undefined);

// `places` from the top, as they are drawn.
export function navigate(places: readonly Place[], cursor: Cursor | undefined, to: Direction): Cursor | undefined {
  const at = cursor === undefined ? places.length - 1 : places.findIndex((each) => isOf(each, cursor));
  const place = places[at];
  const level = place?.level;
  if (place === undefined || level === undefined) return undefined;
  const seen = cursor === undefined ? undefined : underCursor(level, cursor);
  if (seen === undefined) return widest(place, level);
  const row = level.tracks.findIndex(({ id }) => id === seen.track);
  const track = level.tracks[row]!;
  const { blocks } = track;
  const middle = seen.start + seen.duration / 2;
  switch (to) {
    case 'left':
      return on(place, track, scan(blocks, seen.index - 1, -1));
    case 'right':
      return on(place, track, scan(blocks, seen.index + 1, 1));
    case 'home':
      return on(place, track, scan(blocks, 0, 1));
    case 'end':
      return on(place, track, scan(blocks, blocks.start.length - 1, -1));
    case 'up': {
      const above = level.tracks.slice(0, row).findLast(hasStops);
      return above === undefined ? upFrom(places, at, middle) : on(place, above, nearest(above.blocks, middle));
    }
    case 'down': {
      const below = level.tracks.slice(row + 1).find(hasStops);
      return below === undefined ? downFrom(places, at, middle) : on(place, below, nearest(below.blocks, middle));
    }
  }
}
