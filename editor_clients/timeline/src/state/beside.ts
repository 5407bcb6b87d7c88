// The timeline that the shown one is compared with, drawn above it: the older of two profiles, or another step of the same. Its times are moved
// so that each level begins where the shown one's does: one axis is for both. Pure.
import type { Details } from '../server/details_messages';
import type { Level } from '../server/level_messages';
import type { Overview, Path, Span } from '../server/messages';
import type { Counterpart } from '../server/table_messages';
import { isRecording } from './address';
import type { InState, InView, SomeView } from './in_state';
import type { LevelData } from './state';

export interface Beside {
  readonly overview?: Overview; // of the other profile, where there is one
  readonly levels: readonly (LevelData | undefined)[]; // by depth of the shown levels
  readonly counterparts: Readonly<Record<string, Counterpart>>; // by counterpartKey
  readonly details?: Details; // of what the selected block is there
}

export const NOTHING_BESIDE: Beside = { levels: [], counterparts: {} };

type Drawn = 'step' | 'before' | 'beforeStep' | 'alone'; // what says which timelines are
export type Sides = InState<'overview' | 'beside'> & InView<'profile' | Drawn>;
export type Axes = InState<'levels' | 'beside'> & InView<Drawn>;

export const isComparing = ({ before, beforeStep }: SomeView<'before' | 'beforeStep'>): boolean =>
  before !== undefined || beforeStep !== undefined;

// Whether both timelines are drawn.
export const isBeside = (view: SomeView<Drawn>): boolean => isComparing(view) && view.alone !== true && !isRecording(view);

// A step of a profile, as far as it is known.
export interface Side {
  readonly profile: string;
  readonly step: number;
  readonly overview: Overview;
}

export function shownSide({ view, overview }: InState<'overview'> & InView<'profile' | 'step'>): Side | undefined {
  const { profile, step } = view;
  return profile === undefined || step === undefined || overview === undefined || isRecording(view)
    ? undefined
    : { profile, step, overview };
}

export function besideSide(state: Sides): Side | undefined {
  const { view, overview, beside } = state;
  if (!isBeside(view)) return undefined;
  if (view.beforeStep !== undefined) {
    const shown = shownSide(state);
    return shown === undefined || view.beforeStep >= shown.overview.steps.length ? undefined : { ...shown, step: view.beforeStep };
  }
  return overview === undefined || beside.overview === undefined
    ? undefined
    : { profile: view.before!, step: beside.overview.representative, overview: beside.overview };
}

// The side that a block of the upper or the lower timeline is of.
export const sideOf = (state: Sides, before: boolean): Side | undefined => (before ? besideSide(state) : shownSide(state));

export const counterpartKey = (path: Path, before: boolean): string => JSON.stringify([before, ...path]);

export const counterpartOf = ({ beside }: InState<'beside'>, path: Path, before: boolean): Counterpart | undefined =>
  beside.counterparts[counterpartKey(path, before)];

// The path of an open level there; undefined while it is not known, null where there is none.
export function besidePath(state: InState<'beside'> & InView<'path'>, depth: number): Path | null | undefined {
  if (depth === 0) return [];
  const counterpart = counterpartOf(state, state.view.path.slice(0, depth), false);
  return counterpart === undefined ? undefined : (counterpart.path ?? null);
}

// Where a level's own time begins: steps are laid on each other at their start, blocks at theirs.
const originOf = ({ path, extent }: Level): number => (path.length === 0 ? 0 : extent[0]);

const wholeOf = (data: LevelData | undefined): Level | undefined => data?.whole?.level;

// What is added to a time of the upper level to have the same moment on the axis of the lower one.
export function shiftAt({ levels, beside }: InState<'levels' | 'beside'>, depth: number): number {
  const [after, before] = [wholeOf(levels[depth]), wholeOf(beside.levels[depth])];
  return after === undefined || before === undefined ? 0 : originOf(after) - originOf(before);
}

export const originAt = ({ levels }: InState<'levels'>, depth: number): number => {
  const level = wholeOf(levels[depth]);
  return level === undefined ? 0 : originOf(level);
};

// Of one level, or of both that share an axis.
export function extentAt(state: Axes, depth: number): Span | undefined {
  const after = wholeOf(state.levels[depth])?.extent;
  const before = isBeside(state.view) ? wholeOf(state.beside.levels[depth])?.extent : undefined;
  if (after === undefined || before === undefined) return after;
  const shift = shiftAt(state, depth);
  return [Math.min(after[0], before[0] + shift), Math.max(after[1], before[1] + shift)];
}

export const movedSpan = ([from, to]: Span, by: number): Span => [from + by, to + by];

const moved = new WeakMap<Level, { readonly by: number; readonly level: Level }>();

// The level with all its times moved. Remembered: it is asked for in every frame.
export function movedLevel(level: Level, by: number): Level {
  if (by === 0) return level;
  const known = moved.get(level);
  if (known?.by === by) return known.level;
  const times = <Columns extends { readonly start: readonly number[] }>(columns: Columns): Columns => ({
    ...columns,
    start: columns.start.map((start) => start + by),
  });
  const tracks = level.tracks.map((track) => ({
    ...track,
    blocks: times(track.blocks),
    ...(track.waits === undefined ? {} : { waits: times(track.waits) }),
    ...(track.pieces === undefined ? {} : { pieces: times(track.pieces) }),
  }));
  const made: Level = { ...level, extent: movedSpan(level.extent, by), window: movedSpan(level.window, by), tracks };
  moved.set(level, { by, level: made });
  return made;
}
