// A level of the timeline, or the recording above the steps, as the server tells it: tracks of blocks, in columns.
import type { Path, Span } from './messages';

export interface Block {
  readonly label: string;
  readonly class?: string;
  readonly kind: string;
  readonly stage: string;
  readonly direction: number;
  readonly path: Path;
  readonly start: number;
  readonly duration: number;
  readonly count: number;
  readonly fold?: { readonly count: number; readonly min: number; readonly median: number; readonly max: number };
}

// Columns of equal length, by start. `label`, `kind` and `stage` are positions in lists of strings.
export interface Columns {
  readonly start: readonly number[];
  readonly duration: readonly number[];
  readonly label: readonly number[];
  readonly kind: readonly number[];
  readonly stage: readonly number[];
  readonly count: readonly number[];
}

// `busy` is exact, `duration` what is drawn; `whole` is all time of the block on tracks of this kind, which its details say as well; `waiting`
// the part of `busy` in which the host waits; `spans` how many there are in it.
export interface BlockColumns extends Columns {
  readonly direction: readonly number[];
  readonly busy: readonly number[];
  readonly whole: readonly number[];
  readonly waiting: readonly number[];
  readonly spans: readonly number[];
  readonly segment: readonly string[];
  readonly open: readonly number[];
  readonly labels: readonly string[];
  readonly kinds: readonly string[];
  readonly stages: readonly string[];
}

// What the runs of a track are drawn as (layout/runs.ts): those of run i are from `first[i]` to `first[i + 1]`.
export interface Pieces {
  readonly first: readonly number[];
  readonly start: readonly number[];
  readonly duration: readonly number[];
}

export type TrackKind = 'host' | 'device' | 'communication' | 'overlap' | 'path';

export interface Track {
  readonly id: string;
  readonly kind: TrackKind;
  readonly name: string;
  readonly blocks: BlockColumns;
  readonly busy: number;
  readonly waits?: { readonly start: readonly number[]; readonly duration: readonly number[] }; // the host waits, inside the blocks
  readonly time?: number; // of a path: all of it that lies on what is below the level's block
  readonly ways?: readonly (Path | null)[]; // of a path: where each of its blocks is, from the step on; null of thin ones
  readonly exposed?: number; // of an overlap: of all that is below the level's block
  readonly hidden?: number;
  readonly pieces?: Pieces; // absent: every block is drawn whole
}

export interface Crumb {
  readonly label: string;
  readonly path: Path;
}

export interface Level {
  readonly profile: string;
  readonly step: number;
  readonly path: Path;
  readonly crumbs: readonly Crumb[];
  readonly block: Block;
  readonly extent: Span;
  readonly window: Span;
  readonly pixel: number; // ns: what is finer is drawn together
  readonly tracks: readonly Track[];
  readonly moreTracks: number;
}

// All steps on one axis, in ns after its start. A block's segment is the position of the step that it leads to.
export interface Recording {
  readonly profile: string;
  readonly extent: Span;
  readonly window: Span;
  readonly pixel: number; // ns: what is finer is drawn together
  readonly tracks: readonly Track[];
}
