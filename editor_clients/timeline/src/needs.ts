// What the page has to ask for, as a function of its state: a request per slot, gone from the list once its answer is in the state.
import { isRecording, RECORDING, type View } from './address';
import type { Breakdown, Level, Metric, Path, Recording, Span } from './messages';
import type { Method, Params, Result } from './requests';
import { finePixels, scaleOf } from './scale';
import {
  breakdownKey,
  idleUnder,
  isComparing,
  moduleKey,
  samePath,
  selectedPath,
  stepOf,
  type Action,
  type LoadedLevel,
  type State,
} from './state';

export interface Need<M extends Method = Method> {
  readonly slot: string; // one request at a time and slot
  readonly method: M;
  readonly params: Params<M>;
  readonly depth?: number; // of a level
  readonly told?: boolean; // the answer tells what it is about: the state knows by itself whether it still fits
  readonly done: (result: Result<M>) => Action;
}

const need = <M extends Method>(each: Need<M>): Need => each as unknown as Need;

const OVERSCAN = 0.5; // of the span, on either side: a short pan shows nothing empty
const MOST_WIDTH = 8192; // pixels, of the protocol
const ROWS = 40; // of a breakdown: more are below a pixel
const PARTS_SHOWN = 12; // rows of a breakdown whose own rows are shown below them
const SEARCH_LIMIT = 50;
const FEWER_ARROWS = 3; // times the view: a window so much wider spends too many of its arrows outside
const COARSER = 0.99; // a level this much coarser than the screen still counts as fine

export const viewOf = (level: Level, zoom: Span | undefined): Span => zoom ?? level.extent;

const covers = (outer: Span, inner: Span): boolean => outer[0] <= inner[0] && outer[1] >= inner[1];

const hasMerged = (level: Level): boolean => level.tracks.some(({ blocks }) => blocks.spans.some((spans) => spans > 1));

// Whether `loaded` shows `view` on `width` pixels as finely as a new answer would.
export function isFine(loaded: LoadedLevel | undefined, view: Span, width: number): boolean {
  if (loaded === undefined) return false;
  const { extent, window } = loaded.level;
  const seen: Span = [Math.max(view[0], extent[0]), Math.min(view[1], extent[1])];
  if (seen[0] >= seen[1]) return true;
  if (!covers(window, seen)) return false;
  const density = loaded.width / (window[1] - window[0]);
  return density >= (COARSER * width) / (view[1] - view[0]) || !hasMerged(loaded.level);
}

// The window to ask for: the view with some more on either side, within the extent.
export function windowFor(view: Span, extent: Span, width: number): { from: number; to: number; width: number } {
  const span = view[1] - view[0];
  const from = Math.floor(Math.max(extent[0], view[0] - OVERSCAN * span));
  const to = Math.ceil(Math.min(extent[1], view[1] + OVERSCAN * span));
  return { from, to, width: Math.max(1, Math.min(MOST_WIDTH, Math.ceil((width * (to - from)) / span))) };
}

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
function levelNeed(
  view: View,
  depth: number,
  window: { readonly from?: number; readonly to?: number; readonly width: number },
  whole: boolean,
): Need {
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
  const needs: Need[] = [];
  for (let depth = 0; depth <= path.length; depth++) {
    const { whole, part, gap } = state.levels[depth] ?? {};
    const zoom = zooms[depth];
    const pixels = whole === undefined ? width : Math.min(MOST_WIDTH, finePixels(scaleOf(zoom ?? whole.level.extent, 0, width, gap)));
    if (whole === undefined || (zoom === undefined && !isFine(whole, whole.level.extent, pixels))) {
      needs.push(levelNeed(state.view, depth, { width: pixels }, true));
      continue;
    }
    if (zoom === undefined || isFine(whole, zoom, pixels) || isFine(part, zoom, pixels)) continue;
    needs.push(levelNeed(state.view, depth, windowFor(zoom, whole.level.extent, pixels), false));
  }
  return needs;
}

const sameList = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((each, at) => each === b[at]);

// What stands below the step's tracks, as fine as they are, once they are there.
function laneNeeds(state: State, width: number): Need[] {
  const { profile, step, zooms, lanes: open = [] } = state.view;
  const { whole, gap } = state.levels[0] ?? {};
  if (profile === undefined || step === undefined || isRecording(state.view) || whole === undefined) return [];
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
  const { profile, step } = state.view;
  const path = selectedPath(state.view) ?? [];
  if (profile === undefined || step === undefined || isRecording(state.view) || state.levels.length === 0) return [];
  const needs: Need[] = [];
  if (state.details === undefined || !samePath(state.details.path, path)) {
    const done = (details: Result<'hotlens/timeline/details'>): Action => ({ type: 'details', details: { ...details, path } });
    needs.push(need({ slot: 'details', method: 'hotlens/timeline/details', params: { profile, step, path }, done }));
  }
  if (state.overview?.hasDevice === true && path.length > 0) needs.push(...arrowNeeds(state, { profile, step, path }));
  return needs;
}

// Where no block stands under the cursor, it may be idle time: why, the server knows.
function idleNeeds(state: State): Need[] {
  const { view, levels } = state;
  const { profile, step, cursor } = view;
  if (profile === undefined || step === undefined || isRecording(view) || levels.length === 0) return [];
  if (cursor?.segment !== '' || cursor.track === undefined || cursor.start === undefined || idleUnder(state) !== undefined) return [];
  const { track, start: at } = cursor;
  const params = { profile, step, track, at };
  const done = (answer: Result<'hotlens/timeline/idle'>): Action => ({ type: 'idle', track, at, idle: answer });
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

function pointedNeeds({ pointed, view: { profile, step } }: State): Need[] {
  if (pointed?.path === undefined || pointed.details !== undefined || profile === undefined || step === undefined || step === RECORDING)
    return [];
  const done = (details: Result<'hotlens/timeline/details'>): Action => ({ type: 'pointed', details });
  return [need({ slot: 'pointed', method: 'hotlens/timeline/details', params: { profile, step, path: pointed.path }, done })];
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
    );
  return all.filter((each) => state.failures[each.slot] === undefined);
}
