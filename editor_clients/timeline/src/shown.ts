// What of the state is on the canvas: for each open level the data to draw, its title and the part of its time that is seen.
import { RECORDING, type Cursor } from './address';
import { counted, kindOf, labelOf, shortName, stageOf } from './columns';
import { time } from './format';
import { firstSeen, type ShownLevel } from './layout';
import type { Block, Level, Span } from './messages';
import { isFine, viewOf } from './needs';
import type { LevelData, State } from './state';

// The finest data that covers the view; while it is on its way the whole level, coarse but complete.
export function levelFor(data: LevelData | undefined, zoom: Span | undefined, width: number): Level | undefined {
  if (data?.whole === undefined) return undefined;
  if (zoom === undefined) return data.whole.level;
  const covers = data.part !== undefined && data.part.level.window[0] <= zoom[0] && data.part.level.window[1] >= zoom[1];
  return data.part !== undefined && (covers || isFine(data.part, zoom, width)) ? data.part.level : data.whole.level;
}

function titleOf(level: Level | undefined, depth: number, step: number): string {
  if (depth === 0) return step === RECORDING ? 'recording' : `step ${step}`;
  const labels = (level?.crumbs ?? []).filter(({ path }) => path.length > 0).map(({ label }) => label);
  return labels.length > 0 ? labels.map(shortName).join(' › ') : '…';
}

export function shownLevels(state: State, width: number): ShownLevel[] {
  const { path, zooms, step } = state.view;
  const index = state.overview?.steps[step ?? 0]?.index ?? step ?? 0;
  return Array.from({ length: path.length + 1 }, (_, depth) => {
    const level = levelFor(state.levels[depth], zooms[depth], width);
    const view: Span = level === undefined ? [0, 1] : viewOf(level, zooms[depth]);
    const lanes = depth === 0 && step !== RECORDING ? { lanes: state.lanes?.lanes, toggled: state.view.lanes ?? [] } : {};
    return { title: titleOf(level, depth, index), level, view, gap: state.levels[depth]?.gap, ...lanes };
  });
}

// A block as a level's columns tell it, for the tip and for what has no details of its own.
export interface Seen {
  readonly track: string;
  readonly trackName: string;
  readonly index: number;
  readonly label: string;
  readonly kind: string;
  readonly stage: string;
  readonly start: number;
  readonly duration: number;
  readonly direction: number;
  readonly count: number;
  readonly busy: number;
  readonly whole: number;
  readonly waiting: number;
  readonly spans: number;
  readonly segment: string;
  readonly open: boolean;
}

export function seenBlock(level: Level, track: string, index: number): Seen | undefined {
  const row = level.tracks.find(({ id }) => id === track);
  const start = row?.blocks.start[index];
  if (row === undefined || start === undefined) return undefined;
  const { blocks } = row;
  return {
    track,
    trackName: row.name,
    index,
    label: labelOf(blocks, index),
    kind: kindOf(blocks, index),
    stage: stageOf(blocks, index),
    start,
    duration: blocks.duration[index]!,
    direction: blocks.direction[index]!,
    count: blocks.count[index]!,
    busy: blocks.busy[index]!,
    whole: blocks.whole[index]!,
    waiting: blocks.waiting[index]!,
    spans: blocks.spans[index]!,
    segment: blocks.segment[index]!,
    open: blocks.open[index] === 1,
  };
}

export function cursorOn(depth: number, seen: Seen): Cursor {
  return { depth, segment: seen.segment, track: seen.track, start: seen.start };
}

// The block of the cursor: on its track if that is known, at its start if the block is there several times.
export function underCursor(level: Level, cursor: Cursor): Seen | undefined {
  const rows = level.tracks.filter(({ id }) => cursor.track === undefined || id === cursor.track);
  const found = [rows, level.tracks].flatMap((each) =>
    each.flatMap((row) =>
      row.blocks.segment.flatMap((segment, index) => (segment === cursor.segment ? [{ row, index, start: row.blocks.start[index]! }] : [])),
    ),
  );
  const best =
    found.find(({ row, start }) => row.id === cursor.track && start === cursor.start) ?? (cursor.segment === '' ? undefined : found[0]);
  return best === undefined ? undefined : seenBlock(level, best.row.id, best.index);
}

// The block that stands where a cursor without a path stood: after zooming, what was merged is apart.
export function nowUnder(level: Level, cursor: Cursor): Seen | undefined {
  const row = level.tracks.find(({ id }) => id === cursor.track);
  if (row === undefined || cursor.start === undefined) return undefined;
  return seenBlock(level, row.id, Math.min(firstSeen(row.blocks, cursor.start), row.blocks.start.length - 1));
}

// "412 stretches over 91.9 ms, 30.2 ms between them"; nothing of a block without gaps.
export const gapWords = ({ spans, duration, busy, kind }: Seen): string =>
  spans > 1 && kind !== 'merged' && duration > busy
    ? `${spans} stretches over ${time(duration)}, ${time(duration - busy)} between them`
    : '';

export const blockWords = (block: Block | Seen): string => {
  if (block.kind === 'idle') return 'nothing runs here';
  if (block.kind === 'wait') return `${block.label} (the host waits)`;
  if (block.kind === 'merged') return `${block.count} blocks, the largest ${block.label}`;
  return counted(block.label, block.count);
};
