// The one state of the page and the one function that changes it. Pure: what has to be asked from the server follows from the state (needs.ts).
import { START, type Cursor, type View } from "./address";
import type {
  Arrows,
  Breakdown,
  Comparison,
  Details,
  Level,
  Matches,
  Metric,
  Overview,
  Path,
  Profiles,
  Span,
} from "./messages";
import { gapOf } from "./scale";
import type { Connection } from "./transport";

// A level as it arrived, with the width in pixels it was asked for: how fine it is.
export interface LoadedLevel {
  readonly level: Level;
  readonly width: number;
  readonly unfold: boolean;
}

// The whole level, to have something to draw at once, and the part that is looked at, as fine as the screen.
export interface LevelData {
  readonly whole?: LoadedLevel;
  readonly part?: LoadedLevel;
  readonly gap?: Span | undefined; // of the whole level: what the axis shortens
}

export interface Search {
  readonly open: boolean;
  readonly query: string;
  readonly answer?: Matches & { readonly query: string };
  readonly at: number; // position of the current match; -1 before the first
}

export interface Drill {
  readonly label: string;
  readonly module?: string;
}

export interface State {
  readonly view: View;
  readonly connection: Connection;
  readonly profiles?: Profiles;
  readonly known?: Profiles; // what they were, while they are asked for again
  readonly overview?: Overview;
  readonly levels: readonly (LevelData | undefined)[];
  readonly details?: Details;
  readonly arrows?: Arrows & { readonly path: Path; readonly window?: Span }; // no window: of the whole block
  readonly search: Search;
  readonly drill: readonly Drill[]; // the opened rows of the breakdown, from the root
  readonly breakdowns: Readonly<Record<string, Breakdown>>; // by breakdownKey
  readonly comparisons: Readonly<Record<string, Comparison>>; // by moduleKey
  readonly expanded: readonly string[]; // modules of the comparison that show their parts
  readonly failures: Readonly<Record<string, string>>; // by slot of the request: the sentence to show
  readonly note?: string; // said once, in the status line
  readonly help: boolean;
}

// The root module's path is "": it is not the same as no module, the whole step.
export const moduleKey = (module?: string): string => (module === undefined ? "" : `/${module}`);
export const breakdownKey = (metric: Metric, module?: string): string => `${metric}${moduleKey(module)}`;

export function initialState(view: View): State {
  return {
    view,
    connection: "connecting",
    levels: [],
    search: { open: false, query: "", at: -1 },
    drill: [],
    breakdowns: {},
    comparisons: {},
    expanded: [],
    failures: {},
    help: false,
  };
}

export type Action =
  | { readonly type: "connection"; readonly connection: Connection }
  | { readonly type: "profiles"; readonly profiles: Profiles }
  | { readonly type: "changed" }
  | { readonly type: "overview"; readonly overview: Overview }
  | { readonly type: "level"; readonly depth: number; readonly whole: boolean; readonly loaded: LoadedLevel }
  | { readonly type: "details"; readonly details: Details }
  | { readonly type: "arrows"; readonly path: Path; readonly window?: Span; readonly arrows: Arrows }
  | { readonly type: "matches"; readonly query: string; readonly matches: Matches }
  | { readonly type: "breakdown"; readonly key: string; readonly breakdown: Breakdown }
  | { readonly type: "comparison"; readonly key: string; readonly comparison: Comparison }
  | { readonly type: "failed"; readonly slot: string; readonly message: string; readonly gone: boolean; readonly depth?: number }
  | { readonly type: "note"; readonly note: string }
  | { readonly type: "show profile"; readonly profile: string }
  | { readonly type: "show step"; readonly step: number }
  | { readonly type: "open"; readonly path: Path; readonly enter?: boolean } // enter: the cursor goes into the level
  | { readonly type: "close"; readonly depth: number }
  | { readonly type: "move"; readonly cursor: Cursor }
  | { readonly type: "go"; readonly path: Path; readonly profile?: string; readonly step?: number }
  | { readonly type: "zoom"; readonly depth: number; readonly span?: Span }
  | { readonly type: "unfold" }
  | { readonly type: "search"; readonly open: boolean; readonly query?: string }
  | { readonly type: "match"; readonly at: number }
  | { readonly type: "drill"; readonly drill: readonly Drill[] }
  | { readonly type: "compare"; readonly before?: string }
  | { readonly type: "expand"; readonly module: string }
  | { readonly type: "help"; readonly open: boolean };

export const isPrefix = (short: Path, long: Path): boolean =>
  short.length <= long.length && short.every((segment, index) => segment === long[index]);

export const samePath = (a: Path, b: Path): boolean => a.length === b.length && isPrefix(a, b);

// The path of the block under the cursor; nothing for idle time and merged blocks.
export function selectedPath(view: View): Path | undefined {
  const { cursor, path } = view;
  return cursor === undefined || cursor.segment === "" ? undefined : [...path.slice(0, cursor.depth), cursor.segment];
}

// Only the keys of a step are kept when another step or profile is shown.
const forgetStep = (state: State): State => {
  const { details: _details, arrows: _arrows, note: _note, ...rest } = state;
  return { ...rest, levels: [], breakdowns: {}, failures: {}, search: { ...state.search, at: -1 } };
};

const forgetProfile = (state: State): State => {
  const { overview: _overview, ...rest } = forgetStep(state);
  return { ...rest, drill: [], comparisons: {}, expanded: [], search: { open: false, query: "", at: -1 } };
};

function withPath(state: State, path: Path, cursor: Cursor | undefined): State {
  const kept = state.view.path.findIndex((segment, depth) => segment !== path[depth]);
  const levels = kept < 0 ? Math.min(state.view.path.length, path.length) + 1 : kept + 1;
  const { cursor: _cursor, ...view } = state.view;
  return {
    ...state,
    view: { ...view, path, zooms: view.zooms.slice(0, levels), ...(cursor === undefined ? {} : { cursor }) },
    levels: state.levels.slice(0, levels),
    failures: {},
  };
}

const cursorAt = (path: Path): Cursor | undefined =>
  path.length === 0 ? undefined : { depth: path.length - 1, segment: path[path.length - 1]! };

// A block chosen elsewhere: its level is opened, at its whole extent, and the block is under the cursor.
function goTo(state: State, path: Path): State {
  const parent = path.slice(0, -1);
  const keep = isPrefix(parent, state.view.path) ? state.view.path : parent;
  const next = withPath(state, keep, cursorAt(path));
  return { ...next, view: { ...next.view, zooms: next.view.zooms.map((zoom, depth) => (depth === parent.length ? undefined : zoom)) } };
}

function goAnywhere(state: State, action: Action & { type: "go" }): State {
  const profile = action.profile ?? state.view.profile;
  const step = action.step ?? state.view.step;
  if (profile === state.view.profile && step === state.view.step) return goTo(state, action.path);
  const kept = profile === state.view.profile ? forgetStep(state) : forgetProfile(state);
  const view: View = { ...START, unfold: state.view.unfold, ...(profile === undefined ? {} : { profile }), ...(step === undefined ? {} : { step }) };
  return goTo({ ...kept, view }, action.path);
}

// Another run under the same name.
function isReplaced(before: Profiles | undefined, now: Profiles, id: string | undefined): boolean {
  const [old, fresh] = [before, now].map((each) => each?.profiles.find((profile) => profile.id === id));
  if (old === undefined || fresh === undefined) return false;
  const rewritten = fresh.written !== undefined && old.written !== fresh.written; // what is gone stays as it was read
  return rewritten || old.created !== fresh.created || old.stepNs !== fresh.stepNs;
}

// The profile that was asked for if it is still there, else the current one, else the newest.
function withProfiles(state: State, profiles: Profiles): State {
  const exists = (id: string | undefined): id is string => profiles.profiles.some((each) => each.id === id);
  const [newest] = profiles.profiles;
  const asked = state.view.profile;
  const { known, ...rest } = state;
  // Who looks at what is current goes on to the next current one, at the same place.
  const follows = known?.current !== undefined && asked === known.current && profiles.current !== known.current;
  const profile = [follows ? undefined : asked, profiles.current, newest?.id].find(exists);
  const { profiles: _failure, ...failures } = state.failures;
  const next = { ...rest, profiles, failures };
  if (profile === asked) return isReplaced(known, profiles, asked) ? { ...forgetProfile(next), note: "The profile was replaced. This is the new one." } : next;
  const { step, profile: _profile, before, ...view } = state.view;
  const shown: View = { ...view, ...(profile === undefined ? {} : { profile }) };
  const kept = { ...(step === undefined ? {} : { step }), ...(exists(before) ? { before } : {}) };
  if (asked === undefined) return { ...next, failures: {}, view: { ...shown, ...kept } };
  const note = follows ? "A newer profile is here. It is shown now." : "The profile that was shown is gone. This is the current one.";
  return { ...forgetProfile(next), view: { ...shown, zooms: [] }, note };
}

// The first answers tell which profile and step they are about; later ones about another one come too late.
const fits = (known: string | number | undefined, told: string | number): boolean => known === undefined || known === told;

function withOverview(state: State, overview: Overview): State {
  const { profile, step } = state.view;
  const { id } = overview.profile;
  if (!fits(profile, id)) return state;
  const known = step !== undefined && step < overview.steps.length;
  return { ...state, overview, view: { ...state.view, profile: id, step: known ? step : overview.representative } };
}

// An answer that nobody waits for any more (another step, a level that was closed) changes nothing.
function withLevel(state: State, action: Action & { type: "level" }): State {
  const { depth, whole, loaded } = action;
  const { profile, step, path } = loaded.level;
  const { view } = state;
  const wanted = fits(view.step, step) && fits(view.profile, profile) && loaded.unfold === view.unfold;
  if (!wanted || !samePath(path, view.path.slice(0, depth)) || depth > view.path.length) return state;
  const levels = state.levels.slice();
  levels[depth] = { ...levels[depth], ...(whole ? { whole: loaded, gap: gapOf(loaded.level) } : { part: loaded }) };
  const shown = view.profile === profile && view.step === step ? view : { ...view, profile, step };
  return { ...state, view: shown, levels: Array.from(levels) };
}

// A path from an old address may lead nowhere: the deepest level that exists is shown. Without an overview it is the profile that is gone.
function withFailure(state: State, action: Action & { type: "failed" }): State {
  const { slot, message, gone, depth } = action;
  if (gone && depth !== undefined && depth > 0 && state.overview !== undefined) {
    const parent = withPath(state, state.view.path.slice(0, depth - 1), undefined);
    return { ...parent, note: "A block of this address does not exist in this step. The level above it is shown." };
  }
  return { ...state, failures: { ...state.failures, [slot]: message } };
}

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "connection":
      return { ...state, connection: action.connection };
    case "profiles":
      return withProfiles(state, action.profiles);
    case "changed": {
      const { profiles, ...rest } = state;
      return profiles === undefined ? rest : { ...rest, known: profiles };
    }
    case "overview":
      return withOverview(state, action.overview);
    case "level":
      return withLevel(state, action);
    case "details":
      return { ...state, details: action.details };
    case "arrows":
      return { ...state, arrows: { ...action.arrows, path: action.path, ...(action.window === undefined ? {} : { window: action.window }) } };
    case "matches":
      return { ...state, search: { ...state.search, answer: { ...action.matches, query: action.query }, at: -1 } };
    case "breakdown":
      return { ...state, breakdowns: { ...state.breakdowns, [action.key]: action.breakdown } };
    case "comparison":
      return { ...state, comparisons: { ...state.comparisons, [action.key]: action.comparison } };
    case "failed":
      return withFailure(state, action);
    case "note":
      return { ...state, note: action.note };
    case "show profile":
      return { ...forgetProfile(state), view: { ...START, profile: action.profile, unfold: state.view.unfold } };
    case "show step":
      return { ...forgetStep(state), view: { ...state.view, step: action.step, zooms: [] } };
    case "open":
      return withPath(state, action.path, action.enter === true ? undefined : cursorAt(action.path));
    case "close":
      return withPath(state, state.view.path.slice(0, action.depth), cursorAt(state.view.path.slice(0, action.depth + 1)));
    case "move":
      return { ...state, failures: {}, view: { ...state.view, cursor: action.cursor } };
    case "go":
      return goAnywhere(state, action);
    case "zoom": {
      const zooms = state.view.zooms.slice();
      zooms[action.depth] = action.span;
      return { ...state, view: { ...state.view, zooms: Array.from(zooms) } };
    }
    case "unfold":
      return { ...state, levels: [], view: { ...state.view, unfold: !state.view.unfold } };
    case "search":
      return { ...state, failures: {}, search: { ...state.search, open: action.open, query: action.query ?? state.search.query } };
    case "match":
      return { ...state, search: { ...state.search, at: action.at } };
    case "drill":
      return { ...state, drill: action.drill };
    case "compare": {
      const { before: _before, ...view } = state.view;
      return { ...state, comparisons: {}, expanded: [], view: { ...view, ...(action.before === undefined ? {} : { before: action.before }) } };
    }
    case "expand": {
      const open = state.expanded.includes(action.module);
      return { ...state, expanded: open ? state.expanded.filter((each) => each !== action.module) : [...state.expanded, action.module] };
    }
    case "help":
      return { ...state, help: action.open };
  }
}
