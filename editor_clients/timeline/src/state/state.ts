// The one state of the page and the actions that change it (reduce.ts). What has to be asked from the server follows from it
// (store/needs.ts).
import type { Arrows, Details, Idle, RangeSums } from '../server/details_messages';
import type { Lanes } from '../server/lane_messages';
import type { Level } from '../server/level_messages';
import type { Overview, Path, Profiles, Span } from '../server/messages';
import type { Breakdown, Comparison, Counterpart, Matches, Metric } from '../server/table_messages';
import type { Connection } from '../server/transport';
import { isRecording, type Chosen, type Cursor, type View } from './address';
import { NO_BATCH, type Batch, type BatchAction } from './batch';
import { NOTHING_BESIDE, type Beside } from './beside';
import type { InState, InView, SomeView } from './in_state';
import type { Pin, PinnedBlock } from './pins';
import { NO_WHAT_IFS, type WhatIfAction, type WhatIfState } from './what_if';

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

// What stands below the step's tracks, as it was asked for.
export interface LoadedLanes {
  readonly lanes: Lanes;
  readonly window: { readonly from: number; readonly to: number; readonly width: number };
  readonly open: readonly string[];
}

export interface Search {
  readonly open: boolean;
  readonly query: string;
  readonly answer?: Matches & { readonly query: string; readonly step: number };
  readonly at: number; // position of the current match; -1 before the first
}

// A chosen stretch of time, and what ran in it once that is known.
export interface Range extends Chosen {
  readonly sums?: RangeSums;
  readonly before?: RangeSums; // the same stretch of the timeline that is compared with
}

// A block by its path; where the step has none, the place in the code that is known of it.
export interface Target {
  readonly path?: Path;
  readonly before?: boolean; // in the timeline that is compared with
  readonly place?: { readonly file: string; readonly line: number };
}

// What the pointer rests on, and its details once they are known.
export interface Pointed extends Target {
  readonly details?: Details;
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
  readonly lanes?: LoadedLanes;
  readonly details?: Details;
  readonly idle?: Idle & { readonly track: string; readonly at: number; readonly before: boolean }; // of where the cursor stood when no block was under it
  readonly arrows?: Arrows & { readonly path: Path; readonly window?: Span }; // no window: of the whole block
  readonly range?: Range;
  readonly pointed?: Pointed;
  readonly search: Search;
  readonly drill: readonly Drill[]; // the opened rows of the breakdown, from the root
  readonly breakdowns: Readonly<Record<string, Breakdown>>; // by breakdownKey
  readonly comparisons: Readonly<Record<string, Comparison>>; // by moduleKey
  readonly beside: Beside;
  readonly batch: Batch;
  readonly whatIfs: WhatIfState;
  readonly pinned: Readonly<Record<string, PinnedBlock>>; // by pinKey, of the shown profile
  readonly expanded: readonly string[]; // modules of the comparison that show their parts
  readonly failures: Readonly<Record<string, string>>; // by slot of the request: the sentence to show
  readonly note?: string; // said once, in the status line
  readonly help: boolean;
  readonly leading: boolean; // nobody has chosen anything yet: the page opens what takes most time
}

export const NO_FAILURES: State['failures'] = {}; // the same one, so that nothing is drawn for it

// The root module's path is "": it is not the same as no module, the whole step.
export const moduleKey = (module?: string): string => (module === undefined ? '' : `/${module}`);
export const breakdownKey = (metric: Metric, module?: string): string => `${metric}${moduleKey(module)}`;

export function initialState(view: View, range?: Chosen, leading = false): State {
  return {
    view,
    ...(range === undefined ? {} : { range }),
    connection: 'connecting',
    levels: [],
    search: { open: false, query: '', at: -1 },
    drill: [],
    breakdowns: {},
    comparisons: {},
    beside: NOTHING_BESIDE,
    batch: NO_BATCH,
    whatIfs: NO_WHAT_IFS,
    pinned: {},
    expanded: [],
    failures: NO_FAILURES,
    help: false,
    leading,
  };
}

export type Dispatch = (...actions: readonly Action[]) => void;

export const note = (text: string): Action => ({ type: 'note', note: text });

export type Action =
  | { readonly type: 'connection'; readonly connection: Connection }
  | { readonly type: 'profiles'; readonly profiles: Profiles }
  | { readonly type: 'changed' }
  | { readonly type: 'overview'; readonly overview: Overview }
  | { readonly type: 'level'; readonly depth: number; readonly whole: boolean; readonly loaded: LoadedLevel }
  | { readonly type: 'lanes'; readonly loaded: LoadedLanes }
  | { readonly type: 'show lanes'; readonly toggled: readonly string[] }
  | { readonly type: 'details'; readonly details: Details }
  | { readonly type: 'idle'; readonly track: string; readonly at: number; readonly before: boolean; readonly idle: Idle }
  | { readonly type: 'arrows'; readonly path: Path; readonly window?: Span; readonly arrows: Arrows }
  | { readonly type: 'range'; readonly depth: number; readonly span?: Span } // no span: none is chosen any more
  | { readonly type: 'sums'; readonly sums: RangeSums; readonly before?: boolean }
  | { readonly type: 'point'; readonly on?: Target } // nothing: the pointer has left
  | { readonly type: 'pointed'; readonly details: Details }
  | { readonly type: 'matches'; readonly query: string; readonly step: number; readonly matches: Matches }
  | { readonly type: 'breakdown'; readonly key: string; readonly breakdown: Breakdown }
  | { readonly type: 'comparison'; readonly key: string; readonly comparison: Comparison }
  | { readonly type: 'beside overview'; readonly overview: Overview }
  | { readonly type: 'beside level'; readonly depth: number; readonly whole: boolean; readonly loaded: LoadedLevel }
  | { readonly type: 'beside details'; readonly details: Details }
  | { readonly type: 'counterpart'; readonly key: string; readonly counterpart: Counterpart }
  | { readonly type: 'alone'; readonly alone: boolean }
  | { readonly type: 'pin'; readonly pin: Pin } // one more, or another note
  | { readonly type: 'unpin'; readonly step: number; readonly path: Path }
  | { readonly type: 'pinned'; readonly key: string; readonly block: PinnedBlock }
  | { readonly type: 'failed'; readonly slot: string; readonly message: string; readonly gone: boolean; readonly depth?: number }
  | { readonly type: 'note'; readonly note: string }
  | { readonly type: 'show profile'; readonly profile: string }
  | { readonly type: 'show step'; readonly step: number }
  | { readonly type: 'show recording' }
  | { readonly type: 'lead'; readonly path: Path } // opened by the page itself
  | { readonly type: 'open'; readonly path: Path; readonly enter?: boolean } // enter: the cursor goes into the level
  | { readonly type: 'close'; readonly depth: number }
  | { readonly type: 'move'; readonly cursor: Cursor }
  | { readonly type: 'go'; readonly path: Path; readonly profile?: string; readonly step?: number }
  | { readonly type: 'zoom'; readonly depth: number; readonly span?: Span }
  | { readonly type: 'unfold' }
  | { readonly type: 'search'; readonly open: boolean; readonly query?: string }
  | { readonly type: 'match'; readonly at: number }
  | { readonly type: 'drill'; readonly drill: readonly Drill[] }
  | { readonly type: 'compare'; readonly before?: string; readonly step?: number } // with a profile, a step of this one, or nothing
  | { readonly type: 'expand'; readonly module: string }
  | { readonly type: 'help'; readonly open: boolean }
  | BatchAction
  | WhatIfAction;

// The step that everything but the levels is about: beside the whole recording the usual one.
export const stepOf = ({ view, overview }: InState<'overview'> & InView<'step'>): number | undefined =>
  isRecording(view) ? overview?.representative : view.step;

export const isPrefix = (short: Path, long: Path): boolean =>
  short.length <= long.length && short.every((segment, index) => segment === long[index]);

export const samePath = (a: Path, b: Path): boolean => a.length === b.length && isPrefix(a, b);

// Why nothing runs under the cursor, once that is known.
export function idleUnder({ idle, view }: InState<'idle'> & InView<'cursor'>): Idle | undefined {
  const { cursor } = view;
  const same =
    idle !== undefined && idle.track === cursor?.track && idle.at === cursor.start && idle.before === (cursor.before !== undefined);
  return same ? idle : undefined;
}

// The path of the block under the cursor, in the timeline that it stands in; nothing for idle time and merged blocks.
export function selectedPath(view: SomeView<'path' | 'cursor'>): Path | undefined {
  const { cursor, path } = view;
  return cursor === undefined || cursor.segment === '' ? undefined : [...(cursor.before ?? path.slice(0, cursor.depth)), cursor.segment];
}
