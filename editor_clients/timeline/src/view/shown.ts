// What of the state is on the canvas: for each open level the data to draw, its title and the part of its time that is seen.
import { time, toldApart } from '../base/format';
import { firstSeen, type PairPart, type ShownLevel } from '../layout/layout';
import { counted, kindOf, labelOf, shortName, stageOf } from '../server/columns';
import type { Block, Level } from '../server/level_messages';
import type { Path, Span } from '../server/messages';
import { RECORDING, type Cursor } from '../state/address';
import { besidePath, besideSide, extentAt, isBeside, movedLevel, movedSpan, originAt, shiftAt, sideOf, type Sides } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { samePath, type LevelData } from '../state/state';
import { isFine, viewOf } from '../store/need';

// What the levels are drawn from; with a cursor also what stands under it.
export type Drawn = Sides & InState<'levels' | 'lanes' | 'failures'> & InView<'path' | 'zooms' | 'lanes'>;
type Found = InState<'levels' | 'beside'> & InView<'zooms'>;

// The finest data that covers the view; while it is on its way the whole level, coarse but complete.
export function levelFor(data: LevelData | undefined, zoom: Span | undefined, width: number): Level | undefined {
  if (data?.whole === undefined) return undefined;
  if (zoom === undefined) return data.whole.level;
  const covers = data.part !== undefined && data.part.level.window[0] <= zoom[0] && data.part.level.window[1] >= zoom[1];
  return data.part !== undefined && (covers || isFine(data.part, zoom, width)) ? data.part.level : data.whole.level;
}

// Of the shown timeline, or of the one before it on the axis of the shown one.
export function levelAt(state: Found, depth: number, before: boolean, width: number): Level | undefined {
  const zoom = state.view.zooms[depth];
  if (!before) return levelFor(state.levels[depth], zoom, width);
  const shift = shiftAt(state, depth);
  const level = levelFor(state.beside.levels[depth], zoom === undefined ? zoom : movedSpan(zoom, -shift), width);
  return level === undefined ? undefined : movedLevel(level, shift);
}

function titleOf(level: Level | undefined, depth: number, step: number): string {
  if (depth === 0) return step === RECORDING ? 'recording' : `step ${step}`;
  const labels = (level?.crumbs ?? []).filter(({ path }) => path.length > 0).map(({ label }) => label);
  return labels.length > 0 ? labels.map(shortName).join(' › ') : '…';
}

function aloneAt(state: Drawn, depth: number, width: number): ShownLevel {
  const { path, zooms, step } = state.view;
  const index = state.overview?.steps[step ?? 0]?.index ?? step ?? 0;
  const level = levelAt(state, depth, false, width);
  const view: Span = level === undefined ? [0, 1] : viewOf(level, zooms[depth]);
  const lanes = depth === 0 && step !== RECORDING ? { lanes: state.lanes?.lanes, toggled: state.view.lanes ?? [] } : {};
  return { depth, title: titleOf(level, depth, index), level, view, gap: state.levels[depth]?.gap, open: path[depth], ...lanes };
}

// "step 3 · 12.4 ms · train.py": of which profile, where there are two.
function stepWords(state: Sides, before: boolean): string {
  const side = sideOf(state, before);
  if (side === undefined) return '…';
  const { index, wall } = side.overview.steps[side.step] ?? { index: side.step, wall: 0 };
  const other = state.beside.overview;
  const names = other === undefined || state.overview === undefined ? [] : toldApart(other.profile, state.overview.profile);
  return [`step ${index}`, time(wall), ...names.slice(before ? 0 : 1, before ? 1 : 2)].join(' · ');
}

// Why the upper level cannot be there; nothing while it may come.
function absence(state: Drawn, depth: number): string | undefined {
  const failed = Object.keys(state.failures).find((slot) => /^beside (overview|level|counterpart)/.test(slot));
  if (failed !== undefined) return state.failures[failed];
  return besidePath(state, depth) === null ? 'no such block' : undefined;
}

function upperTitle(state: Drawn, depth: number, level: Level | undefined): string {
  const absent = level === undefined ? absence(state, depth) : undefined;
  return `before · ${absent ?? (depth === 0 ? stepWords(state, true) : titleOf(level, depth, 0))}`;
}

// The segment of the block that the next upper level shows, where it stands in this one.
function upperOpen(state: Drawn, depth: number): string | undefined {
  const [path, next] = [besidePath(state, depth), besidePath(state, depth + 1)];
  return depth < state.view.path.length && path && next && samePath(next.slice(0, -1), path) ? next.at(-1) : undefined;
}

function upperAt(state: Drawn, depth: number, view: Span, width: number): ShownLevel {
  const side = besideSide(state);
  const level = levelAt(state, depth, true, width);
  const stepEnd = side?.overview.steps[side.step]?.wall;
  const pair: PairPart = {
    side: 'before',
    origin: originAt(state, depth),
    path: besidePath(state, depth) ?? [],
    absent: level === undefined && absence(state, depth) !== undefined,
    ...(stepEnd === undefined ? {} : { stepEnd }),
  };
  return { depth, title: upperTitle(state, depth, level), level, view, open: upperOpen(state, depth), pair };
}

// Before and after, on one axis.
function pairAt(state: Drawn, depth: number, width: number): ShownLevel[] {
  const { gap: _gap, lanes: _lanes, ...after } = aloneAt(state, depth, width); // what stands below the tracks is of one of both
  const view = state.view.zooms[depth] ?? extentAt(state, depth) ?? after.view;
  const title = depth === 0 ? stepWords(state, false) : after.title;
  return [
    upperAt(state, depth, view, width),
    { ...after, view, title: `after · ${title}`, pair: { side: 'after', origin: originAt(state, depth) } },
  ];
}

export function shownLevels(state: Drawn, width: number): ShownLevel[] {
  const depths = Array.from({ length: state.view.path.length + 1 }, (_, depth) => depth);
  return depths.flatMap((depth) => (isBeside(state.view) ? pairAt(state, depth, width) : [aloneAt(state, depth, width)]));
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
  readonly way?: Path; // of the critical path: where the block is, from the step on
  readonly before?: Path; // it stands in the timeline that is compared with: the path of its level there
}

// What has no level to open: a double click zooms to it.
export const isMadeWide = (kind: string): boolean => kind === 'merged' || kind === 'path';

// `before`: the path of a level of the upper timeline.
export function seenBlock(level: Level, track: string, index: number, before?: Path): Seen | undefined {
  const row = level.tracks.find(({ id }) => id === track);
  const start = row?.blocks.start[index];
  if (row === undefined || start === undefined) return undefined;
  const { blocks, ways } = row;
  const way = ways?.[index] ?? undefined;
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
    ...(way === undefined ? {} : { way }),
    ...(before === undefined ? {} : { before }),
  };
}

export function cursorOn(depth: number, seen: Seen): Cursor {
  const { segment, track, start, before } = seen;
  return { depth, segment, track, start, ...(before === undefined ? {} : { before }) };
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
  return best === undefined ? undefined : seenBlock(level, best.row.id, best.index, cursor.before);
}

export function seenUnderCursor(state: Found & InView<'cursor'>, width: number): Seen | undefined {
  const { cursor } = state.view;
  const level = cursor === undefined ? undefined : levelAt(state, cursor.depth, cursor.before !== undefined, width);
  return cursor === undefined || level === undefined ? undefined : underCursor(level, cursor);
}

// With the times of its own step, where the picture has moved them.
export const inOwnTime = (state: InState<'levels' | 'beside'>, depth: number, seen: Seen): Seen =>
  seen.before === undefined ? seen : { ...seen, start: seen.start - shiftAt(state, depth) };

// The block that stands where a cursor without a path stood: after zooming, what was merged is apart.
export function nowUnder(level: Level, cursor: Cursor): Seen | undefined {
  const row = level.tracks.find(({ id }) => id === cursor.track);
  if (row === undefined || cursor.start === undefined) return undefined;
  return seenBlock(level, row.id, Math.min(firstSeen(row.blocks, cursor.start), row.blocks.start.length - 1), cursor.before);
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
