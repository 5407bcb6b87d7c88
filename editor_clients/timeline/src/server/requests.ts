// What the page may ask and may be told, by the names of protocol/TIMELINE.md.
import type { BatchSizes } from './batch_messages';
import type { Arrows, Details, Idle, Lines, RangeSums } from './details_messages';
import type { Lanes } from './lane_messages';
import type { Level, Recording } from './level_messages';
import type { Overview, Path, Profiles } from './messages';
import type { Breakdown, Comparison, Counterpart, Matches, Metric } from './table_messages';
import type { WhatIfs } from './what_if_messages';

interface Where {
  readonly profile?: string;
  readonly step?: number;
}

// All steps at once: times are on the axis of "recording".
interface Whole {
  readonly profile?: string;
  readonly recording: true;
}

// Every request: what is asked, what comes back.
export interface Requests {
  'hotlens/timeline/profiles': { params: Record<string, never>; result: Profiles };
  'hotlens/timeline/overview': { params: { readonly profile?: string }; result: Overview };
  'hotlens/timeline/level': {
    params: Where & {
      readonly path: Path;
      readonly from?: number;
      readonly to?: number;
      readonly width: number;
      readonly unfold?: boolean;
    };
    result: Level;
  };
  'hotlens/timeline/recording': {
    params: { readonly profile?: string; readonly from?: number; readonly to?: number; readonly width: number };
    result: Recording;
  };
  'hotlens/timeline/details': { params: Where & { readonly path: Path }; result: Details };
  'hotlens/timeline/arrows': { params: Where & { readonly path: Path; readonly from?: number; readonly to?: number }; result: Arrows };
  'hotlens/timeline/lanes': {
    params: Where & { readonly from?: number; readonly to?: number; readonly width: number; readonly open: readonly string[] };
    result: Lanes;
  };
  'hotlens/timeline/idle': { params: Where & { readonly track: string; readonly at: number }; result: Idle };
  'hotlens/timeline/range': {
    params: ((Where & { readonly path: Path }) | Whole) & { readonly from: number; readonly to: number };
    result: RangeSums;
  };
  'hotlens/timeline/call': {
    params: Where & { readonly path: Path; readonly back: boolean };
    result: { readonly position: number; readonly count: number; readonly path?: Path };
  };
  'hotlens/timeline/search': { params: Where & { readonly query: string; readonly limit?: number }; result: Matches };
  'hotlens/timeline/breakdown': {
    params: Where & { readonly metric: Metric; readonly module?: string; readonly limit?: number };
    result: Breakdown;
  };
  'hotlens/timeline/compare': {
    params: {
      readonly before: string;
      readonly after?: string;
      readonly module?: string;
      readonly beforeStep?: number;
      readonly afterStep?: number;
    };
    result: Comparison;
  };
  'hotlens/timeline/counterpart': {
    params: Where & { readonly path: Path; readonly other: string; readonly otherStep?: number; readonly side: 'before' | 'after' };
    result: Counterpart;
  };
  'hotlens/timeline/export': {
    params: (Where | Whole) & { readonly from?: number; readonly to?: number };
    result: { readonly name: string; readonly text: string };
  };
  'hotlens/timeline/batchSizes': { params: { readonly profile?: string }; result: BatchSizes };
  'hotlens/timeline/predict': {
    params: { readonly profile?: string };
    result: { readonly started: boolean; readonly message?: string };
  };
  'hotlens/timeline/setBatchSize': {
    params: { readonly file: string; readonly was: number; readonly batchSize: number };
    result: { readonly applied: boolean; readonly message?: string };
  };
  'hotlens/timeline/whatIfs': { params: { readonly profile?: string }; result: WhatIfs };
  'hotlens/timeline/planCheckpoints': {
    params: { readonly profile?: string };
    result: { readonly started: boolean; readonly message?: string };
  };
  'hotlens/timeline/setCheckpoints': {
    params: { readonly profile: string; readonly blocks: readonly string[] };
    result: { readonly applied: boolean; readonly message?: string };
  };
  'hotlens/timeline/reveal': {
    params: { readonly profile?: string; readonly file: string; readonly line: number; readonly column?: number };
    result: { readonly shown: boolean };
  };
  'hotlens/timeline/point': { params: { readonly lines: readonly Lines[] }; result: { readonly shown: boolean } };
}

export type Method = keyof Requests;
export type Params<M extends Method> = Requests[M]['params'];
export type Result<M extends Method> = Requests[M]['result'];

export type Notification =
  | { readonly method: 'hotlens/timeline/changed'; readonly params: { readonly current?: string } }
  | { readonly method: 'hotlens/timeline/batchSizesChanged'; readonly params: Record<string, never> }
  | { readonly method: 'hotlens/timeline/whatIfsChanged'; readonly params: Record<string, never> }
  | {
      readonly method: 'hotlens/timeline/select';
      readonly params: Selected;
    };

// A block that somebody chose elsewhere. `before`: the profile to compare it with.
export interface Selected {
  readonly profile: string;
  readonly step: number;
  readonly path: Path;
  readonly before?: string;
}

// What a request may fail with: a sentence for the user. `gone`: the path or the profile does not exist any more.
export interface Failure {
  readonly message: string;
  readonly gone: boolean;
}
