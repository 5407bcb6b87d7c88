// What the page has to ask for, as a function of its state: a request per slot, gone from the list once its answer is in the state.
import { finePixels, scaleOf } from '../layout/scale';
import type { BatchSizes } from '../server/batch_messages';
import type { Details } from '../server/details_messages';
import type { Level, Recording } from '../server/level_messages';
import type { Path, Span } from '../server/messages';
import type { Result } from '../server/requests';
import type { Breakdown, Metric } from '../server/table_messages';
import type { WhatIfs } from '../server/what_if_messages';
import { isRecording, RECORDING, type View } from '../state/address';
import { isBeside, isComparing, shiftAt, sideOf } from '../state/beside';
import { pinKey, type PinnedBlock } from '../state/pins';
import { breakdownKey, idleUnder, moduleKey, samePath, selectedPath, stepOf, type Action, type State } from '../state/state';
import { COARSER, covers, isAbout, missing, MOST_WIDTH, need, windowFor, type LevelWindow, type Need } from './need';
import { besideNeeds } from './needs_beside';

const ROWS = 40; // of a breakdown: more are below a pixel
const PARTS_SHOWN = 12; // rows of a breakdown whose own rows are shown below them
const SEARCH_LIMIT = 50;
const FEWER_ARROWS = 3; // times the view: a window so much wider spends too many of its arrows outside

// What a request is about, as far as it is known: the server takes what it shows now for the rest.
function about({ profile, step }: View): { profile?: string; step?: number } {
  return { ...(profile === undefined ? {} : { profile }), ...(step === undefined ? {} : { step }) };
}

// The level above the steps: its blocks lead to steps instead of levels.
const levelOfRecording = (recording: Recording): Level => ({
  ...recording,
  step: RECORDING,
  path: [],
  crumbs: [{ label: 'recording', path: [] }],
  block: {
    label: 'recording',
    kind: 'recording',
    stage: 'other',
    direction: 0,
    path: [],
    start: 0,
    duration: recording.extent[1],
    count: 1,
  },
  moreTracks: 0,
});

// What shows a level: of a step, or the one above the steps.
function levelNeed(view: View, depth: number, window: LevelWindow, whole: boolean): Need {
  const { profile, path, unfold } = view;
  const done = (level: Level): Action => ({ type: 'level', depth, whole, loaded: { level, width: window.width, unfold } });
  const of = { slot: `level ${depth}`, depth, told: true };
  if (isRecording(view)) {
    const params = { ...(profile === undefined ? {} : { profile }), ...window };
    return need({ ...of, method: 'hotlens/timeline/recording', params, done: (recording) => done(levelOfRecording(recording)) });
  }
  const params = { ...about(view), path: path.slice(0, depth), ...(unfold ? { unfold } : {}), ...window };
  return need({ ...of, method: 'hotlens/timeline/level', params, done });
}

function levelNeeds(state: State, width: number): Need[] {
  const { path, zooms } = state.view;
  return Array.from({ length: path.length + 1 }, (_, depth) => {
    const part = missing(state.levels[depth] ?? {}, zooms[depth], width);
    return part === undefined ? [] : [levelNeed(state.view, depth, part.window, part.whole)];
  }).flat();
}

const sameList = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((each, at) => each === b[at]);

// What stands below the step's tracks, as fine as they are, once they are there.
function laneNeeds(state: State, width: number): Need[] {
  const { profile, step, zooms, lanes: open = [] } = state.view;
  const { whole, gap } = state.levels[0] ?? {};
  if (profile === undefined || step === undefined || isRecording(state.view) || isBeside(state.view) || whole === undefined) return [];
  const { extent } = whole.level;
  const view = zooms[0] ?? extent;
  const pixels = Math.min(MOST_WIDTH, finePixels(scaleOf(view, 0, width, gap)));
  const loaded = state.lanes;
  const window = zooms[0] === undefined ? { from: extent[0], to: extent[1], width: pixels } : windowFor(view, extent, pixels);
  const density = (of: { from: number; to: number; width: number }): number => of.width / Math.max(1, of.to - of.from);
  if (loaded !== undefined && sameList(loaded.open, open)) {
    const { window: told, lanes } = loaded;
    const seen: Span = [Math.max(view[0], extent[0]), Math.min(view[1], extent[1])];
    if (
      covers([told.from, told.to], seen) &&
      (lanes.pixel <= 1 || density(told) >= COARSER * density({ from: view[0], to: view[1], width: pixels }))
    )
      return [];
  }
  const done = (lanes: Result<'hotlens/timeline/lanes'>): Action => ({ type: 'lanes', loaded: { lanes, window, open } });
  return [need({ slot: 'lanes', method: 'hotlens/timeline/lanes', params: { profile, step, open, ...window }, done })];
}

function selectionNeeds(state: State): Need[] {
  const before = state.view.cursor?.before !== undefined;
  const side = sideOf(state, before);
  const path = selectedPath(state.view) ?? [];
  if (side === undefined || state.levels.length === 0) return [];
  const of = { profile: side.profile, step: side.step, path };
  const needs: Need[] = [];
  if (!isAbout(state.details, side, path)) {
    const done = (details: Details): Action => ({ type: 'details', details: { ...details, path } });
    needs.push(need({ slot: 'details', method: 'hotlens/timeline/details', params: of, done }));
  }
  if (state.overview?.hasDevice === true && path.length > 0 && !before) needs.push(...arrowNeeds(state, of));
  return needs;
}

// Where no block stands under the cursor, it may be idle time: why, the server knows.
function idleNeeds(state: State): Need[] {
  const { cursor } = state.view;
  const before = cursor?.before !== undefined;
  const side = sideOf(state, before);
  if (side === undefined || state.levels.length === 0) return [];
  if (cursor?.segment !== '' || cursor.track === undefined || cursor.start === undefined || idleUnder(state) !== undefined) return [];
  const { track, start: at } = cursor;
  const params = { profile: side.profile, step: side.step, track, at: before ? at - shiftAt(state, cursor.depth) : at };
  const done = (answer: Result<'hotlens/timeline/idle'>): Action => ({ type: 'idle', track, at, before, idle: answer });
  return [need({ slot: 'idle', method: 'hotlens/timeline/idle', params, done })];
}

// The part of a view that lies within the extent: an address may say anything.
function inside(view: Span | undefined, extent: Span): Span | undefined {
  if (view === undefined) return undefined;
  const part: Span = [Math.max(view[0], extent[0]), Math.min(view[1], extent[1])];
  return part[0] < part[1] ? part : undefined;
}

// Whether the arrows at hand are those of the view: all of them, or as many of it as an answer holds.
export function showsArrows({ arrows, total, window }: NonNullable<State['arrows']>, view: Span | undefined): boolean {
  const all = total === arrows.length;
  if (view === undefined) return window === undefined;
  if (window === undefined) return all;
  return covers(window, view) && (all || window[1] - window[0] <= FEWER_ARROWS * (view[1] - view[0]));
}

function arrowNeeds(state: State, about: { readonly profile: string; readonly step: number; readonly path: Path }): Need[] {
  const depth = state.view.cursor?.depth ?? 0;
  const { arrows } = state;
  const extent = state.levels[depth]?.whole?.level.extent;
  const zoom = extent === undefined ? undefined : inside(state.view.zooms[depth], extent);
  if (arrows !== undefined && samePath(arrows.path, about.path) && showsArrows(arrows, zoom)) return [];
  const window = zoom === undefined ? undefined : windowFor(zoom, extent!, 1);
  const seen: { window?: Span } = window === undefined ? {} : { window: [window.from, window.to] };
  const done = (arrows: Result<'hotlens/timeline/arrows'>): Action => ({ type: 'arrows', path: about.path, ...seen, arrows });
  const params = { ...about, ...(window === undefined ? {} : { from: window.from, to: window.to }) };
  return [need({ slot: 'arrows', method: 'hotlens/timeline/arrows', params, done })];
}

function pointedNeeds(state: State): Need[] {
  const { pointed } = state;
  const side = sideOf(state, pointed?.before === true);
  if (pointed?.path === undefined || pointed.details !== undefined || side === undefined) return [];
  const done = (details: Details): Action => ({ type: 'pointed', details });
  const params = { profile: side.profile, step: side.step, path: pointed.path };
  return [need({ slot: 'pointed', method: 'hotlens/timeline/details', params, done })];
}

// Of each pin what block it is, once.
function pinNeeds({ view: { profile, pins = [] }, pinned }: State): Need[] {
  return pins.flatMap((pin) => {
    const key = pinKey(pin);
    if (profile === undefined || pinned[key] !== undefined) return [];
    const answer = (block: PinnedBlock): Action => ({ type: 'pinned', key, block });
    const done = ({ label, times: { device = 0, cpuTotal = 0 } }: Details): Action => answer({ label, ns: device > 0 ? device : cpuTotal });
    const params = { profile, step: pin.step, path: pin.path };
    return [need({ slot: `pin ${key}`, method: 'hotlens/timeline/details', params, done, gone: () => answer(null) })];
  });
}

// After the first picture, and again whenever they changed while the answer was on its way.
function batchNeeds({ view: { profile }, levels, batch: { asked, known } }: State): Need[] {
  if (profile === undefined || levels.length === 0 || known === asked) return [];
  const done = (sizes: BatchSizes): Action => ({ type: 'batch sizes', sizes, asked });
  return [need({ slot: 'batch sizes', method: 'hotlens/timeline/batchSizes', params: { profile }, done })];
}

function whatIfNeeds({ view: { profile }, levels, whatIfs: { asked, known } }: State): Need[] {
  if (profile === undefined || levels.length === 0 || known === asked) return [];
  const done = (whatIfs: WhatIfs): Action => ({ type: 'what-ifs', whatIfs, asked });
  return [need({ slot: 'what-ifs', method: 'hotlens/timeline/whatIfs', params: { profile }, done })];
}

function rangeNeeds({ range, view }: State): Need[] {
  const { profile, step, path } = view;
  if (range === undefined || range.sums !== undefined || profile === undefined || step === undefined) return [];
  const [from, to] = range.span.map(Math.round) as [number, number];
  const of = isRecording(view) ? { recording: true as const } : { step, path: path.slice(0, range.depth) };
  const params = { profile, ...of, from, to };
  const done = (sums: Result<'hotlens/timeline/range'>): Action => ({ type: 'sums', sums });
  return [need({ slot: 'range', method: 'hotlens/timeline/range', params, done })];
}

function searchNeeds(state: State): Need[] {
  const { profile } = state.view;
  const step = stepOf(state);
  const { query, answer } = state.search;
  if (query === '' || answer?.query === query || profile === undefined || step === undefined) return [];
  const done = (matches: Result<'hotlens/timeline/search'>): Action => ({ type: 'matches', query, step, matches });
  return [need({ slot: 'search', method: 'hotlens/timeline/search', params: { profile, step, query, limit: SEARCH_LIMIT }, done })];
}

export const METRICS: readonly Metric[] = ['time', 'memory'];

// The rows of a breakdown that show their own rows below them.
export const openRows = (breakdown: Breakdown): readonly string[] =>
  breakdown.rows.slice(0, PARTS_SHOWN).flatMap((row) => (row.children > 0 && row.module !== undefined ? [row.module] : []));

function breakdownNeeds(state: State): Need[] {
  const { profile } = state.view;
  const step = stepOf(state);
  if (profile === undefined || step === undefined || state.levels.length === 0) return [];
  const module = state.drill.at(-1)?.module;
  return METRICS.flatMap((metric) => {
    const top = state.breakdowns[breakdownKey(metric, module)];
    const wanted =
      top === undefined ? [module] : openRows(top).filter((each) => state.breakdowns[breakdownKey(metric, each)] === undefined);
    return wanted.map((each) => {
      const key = breakdownKey(metric, each);
      const params = { profile, step, metric, limit: ROWS, ...(each === undefined ? {} : { module: each }) };
      const done = (breakdown: Breakdown): Action => ({ type: 'breakdown', key, breakdown });
      return need({ slot: `breakdown ${key}`, method: 'hotlens/timeline/breakdown', params, done });
    });
  });
}

function comparisonNeeds(state: State): Need[] {
  const { before, beforeStep, profile } = state.view;
  const step = stepOf(state);
  if (!isComparing(state.view) || profile === undefined || step === undefined) return [];
  const sides =
    beforeStep === undefined ? { before: before!, after: profile } : { before: profile, after: profile, beforeStep, afterStep: step };
  return [undefined, ...state.expanded]
    .filter((module) => state.comparisons[moduleKey(module)] === undefined)
    .map((module) => {
      const key = moduleKey(module);
      const params = { ...sides, ...(module === undefined ? {} : { module }) };
      const done = (comparison: Result<'hotlens/timeline/compare'>): Action => ({ type: 'comparison', key, comparison });
      return need({ slot: `compare ${key}`, method: 'hotlens/timeline/compare', params, done });
    });
}

// `width`: pixels of a track. A page that opens asks for everything that its first picture needs at once, not knowing yet what is there.
// What failed is not asked for again until the state that asked for it changes.
export function needs(state: State, width: number): readonly Need[] {
  const all: Need[] = [];
  if (state.profiles === undefined) {
    const done = (profiles: Result<'hotlens/timeline/profiles'>): Action => ({ type: 'profiles', profiles });
    all.push(need({ slot: 'profiles', method: 'hotlens/timeline/profiles', params: {}, done }));
  }
  if (state.profiles?.profiles.length === 0) return all;
  if (state.overview === undefined) {
    const { profile } = state.view;
    const done = (overview: Result<'hotlens/timeline/overview'>): Action => ({ type: 'overview', overview });
    all.push(
      need({ slot: 'overview', told: true, method: 'hotlens/timeline/overview', params: profile === undefined ? {} : { profile }, done }),
    );
  }
  all.push(...levelNeeds(state, width));
  if (state.overview !== undefined)
    all.push(
      ...laneNeeds(state, width),
      ...selectionNeeds(state),
      ...idleNeeds(state),
      ...rangeNeeds(state),
      ...pointedNeeds(state),
      ...searchNeeds(state),
      ...breakdownNeeds(state),
      ...comparisonNeeds(state),
      ...besideNeeds(state, width),
      ...pinNeeds(state),
      ...batchNeeds(state),
      ...whatIfNeeds(state),
    );
  return all.filter((each) => state.failures[each.slot] === undefined);
}
