// The server draws a block of many short spans as many narrow pieces, so that what is drawn is as wide as the block is busy. To the hand
// and the eye they are one thing: pieces of one block with less than about a pixel between them become one run, which has the name, the
// frame and the tip, and is drawn as its pieces. Pure.
import type { BlockColumns, Level, Pieces, Track } from '../server/level_messages';
import { toPixel, type Scale } from './scale';

// A piece lasts as long as what it stands for within one pixel is busy, so between two of them there may be this many pixels.
const TOGETHER = 2;

const endOf = ({ start, duration }: BlockColumns, index: number): number => start[index]! + duration[index]!;

function continues(blocks: BlockColumns, index: number, pixel: number): boolean {
  const same = (column: readonly (number | string)[]): boolean => column[index] === column[index - 1];
  return (
    blocks.segment[index] !== '' &&
    same(blocks.segment) &&
    same(blocks.label) &&
    same(blocks.kind) &&
    same(blocks.stage) &&
    blocks.start[index]! - endOf(blocks, index - 1) < TOGETHER * pixel
  );
}

function runsOf(track: Track, pixel: number): Track {
  const { blocks } = track;
  const first: number[] = []; // of the pieces of each run
  blocks.start.forEach((_, index) => {
    if (index === 0 || !continues(blocks, index, pixel)) first.push(index);
  });
  if (first.length === blocks.start.length) return track;
  const last = (run: number): number => (first[run + 1] ?? blocks.start.length) - 1;
  const picked = <T>(column: readonly T[]): T[] => first.map((index) => column[index]!);
  const summed = (column: readonly number[]): number[] =>
    first.map((index, run) => column.slice(index, last(run) + 1).reduce((sum, each) => sum + each, 0));
  const runs: BlockColumns = {
    ...blocks,
    start: picked(blocks.start),
    duration: first.map((index, run) => endOf(blocks, last(run)) - blocks.start[index]!),
    label: picked(blocks.label),
    kind: picked(blocks.kind),
    stage: picked(blocks.stage),
    direction: picked(blocks.direction),
    count: picked(blocks.count),
    busy: summed(blocks.busy),
    whole: picked(blocks.whole),
    waiting: summed(blocks.waiting),
    spans: summed(blocks.spans),
    segment: picked(blocks.segment),
    open: picked(blocks.open),
  };
  const pieces: Pieces = { first: [...first, blocks.start.length], start: blocks.start, duration: blocks.duration };
  return { ...track, blocks: runs, pieces };
}

export const withRuns = (level: Level): Level => ({ ...level, tracks: level.tracks.map((track) => runsOf(track, level.pixel)) });

// A rectangle of a picture; what is narrower than a pixel fills its column in part.
export interface Stroke {
  readonly x: number;
  readonly width: number;
  readonly cover: number; // 0 to 1
}

export const NARROW = 2; // pixels: what is narrower is spread over the columns that it touches
const ALONE = 0.35; // cover of a column with nothing beside it: fainter ones would not be found

// `spans` by start, as [from, to] in pixels. Their strokes cover as much as they do, but for the thinnest that stand alone.
export function strokesOf(spans: readonly (readonly [from: number, to: number])[]): Stroke[] {
  const columns = new Map<number, number>();
  const edges = new Set<number>(); // columns of the ends of wide spans
  const strokes: Stroke[] = [];
  for (const [from, to] of spans) {
    if (to - from >= NARROW) {
      strokes.push({ x: from, width: to - from, cover: 1 });
      edges.add(Math.floor(from)).add(Math.floor(to));
      continue;
    }
    for (let x = Math.floor(from); x < to || x === Math.floor(from); x++) {
      columns.set(x, (columns.get(x) ?? 0) + Math.max(0, Math.min(to, x + 1) - Math.max(from, x)));
    }
  }
  for (const [x, sum] of columns) {
    const alone = !columns.has(x - 1) && !columns.has(x + 1) && ![x - 1, x, x + 1].some((near) => edges.has(near));
    const cover = Math.min(1, alone ? Math.max(ALONE, sum) : sum);
    if (cover > 0) strokes.push({ x, width: 1, cover });
  }
  return strokes;
}

// The pieces of one run, in pixels, cut at the edges of the view.
export function spansOfRun(track: Track, run: number, scale: Scale): [from: number, to: number][] {
  const { blocks, pieces } = track;
  const [from, to] = scale.view;
  const span = (start: number, end: number): [number, number][] =>
    end <= from || start >= to ? [] : [[toPixel(scale, Math.max(from, start)), toPixel(scale, Math.min(to, end))]];
  if (pieces === undefined) return span(blocks.start[run]!, endOf(blocks, run));
  const spans: [number, number][] = [];
  for (let piece = pieces.first[run]!; piece < pieces.first[run + 1]!; piece++) {
    const start = pieces.start[piece]!;
    spans.push(...span(start, start + pieces.duration[piece]!));
  }
  return spans;
}

// When the host waits inside what a track shows, in pixels.
export function waitsOf({ waits }: Track, scale: Scale): [from: number, to: number][] {
  const [from, to] = scale.view;
  return (waits?.start ?? []).flatMap((start, index): [number, number][] => {
    const end = start + waits!.duration[index]!;
    return end <= from || start >= to ? [] : [[toPixel(scale, Math.max(from, start)), toPixel(scale, Math.min(to, end))]];
  });
}

// Which part of [from, to] the strokes cover.
export function coverOf(strokes: readonly Stroke[], from: number, to: number): number {
  const covered = strokes.reduce((sum, { x, width, cover }) => sum + Math.max(0, Math.min(to, x + width) - Math.max(from, x)) * cover, 0);
  return to <= from ? 0 : Math.min(1, covered / (to - from));
}
