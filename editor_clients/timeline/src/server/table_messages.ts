// What the server finds and adds up: matches of a search, the rows of a breakdown and of a comparison.
import type { Path, ProfileSummary } from './messages';

export interface Match {
  readonly kind: 'stage' | 'module' | 'operator' | 'kernel' | 'file';
  readonly label: string;
  readonly detail: string;
  readonly path?: Path;
  readonly file?: string;
  readonly line?: number;
  readonly time: number;
  readonly count: number;
  readonly steps?: number; // in how many steps; of operators and kernels
  readonly step?: number; // position of the nearest step that has what the searched one lacks
}

export interface Matches {
  readonly matches: readonly Match[];
  readonly total: number;
}

export type Metric = 'time' | 'memory';

export interface BreakdownRow {
  readonly label: string;
  readonly class?: string;
  readonly module?: string;
  readonly kind: string;
  readonly value: number;
  readonly parts: readonly { readonly what: string; readonly value: number }[];
  readonly path?: Path;
  readonly file?: string;
  readonly line?: number;
  readonly children: number;
}

export interface Breakdown {
  readonly rows: readonly BreakdownRow[];
  readonly total: number;
}

export type Change = 'faster' | 'slower' | 'same' | 'added' | 'removed';

export interface CompareRow extends Changed {
  readonly module?: string; // of a module
  readonly class?: string;
  readonly label?: string; // of two steps' rows
  readonly kind?: string;
  readonly children: number;
  readonly path?: Path;
}

// What `hotlens diff` says of a block: over all steps, of a module its forward and backward.
export interface Judged extends Changed {
  readonly of: 'step' | 'stage' | 'module';
  readonly plain?: boolean; // steps that were timed without the profiler
  readonly made?: readonly string[]; // what a module is made of otherwise: "512 → 576"
}

// The same block in another profile or step; no path: it has none there.
export interface Counterpart {
  readonly path?: Path;
  readonly judged?: Judged;
}

export interface ComparedSide extends ProfileSummary {
  readonly step?: number; // position, where two steps are compared
}

// Of a difference: what it is, and from which size on it is one.
export interface Changed {
  readonly change: Change;
  readonly before?: number;
  readonly after?: number;
  readonly noise?: number;
}

export interface Comparison {
  readonly step: Changed; // as a whole
  readonly rows: readonly CompareRow[];
  readonly before: ComparedSide;
  readonly after: ComparedSide;
}
