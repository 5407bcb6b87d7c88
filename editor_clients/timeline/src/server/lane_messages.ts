// What `hotlens/timeline/lanes` answers: what stands below the tracks of a step. Times are nanoseconds after the step's start.
import type { Columns } from './level_messages';
import type { Span } from './messages';

// The lists are the flame's; `place` is a position too, -1 where there is none.
export interface FlameRow extends Columns {
  readonly place: readonly number[];
}

export interface Flame {
  readonly outer: readonly string[]; // functions around everything, the outermost first
  readonly deeper: number; // events below the last row
  readonly rows: readonly FlameRow[]; // callers above what they call
  readonly labels: readonly string[];
  readonly kinds: readonly string[];
  readonly stages: readonly string[];
  readonly places: readonly { readonly file: string; readonly line: number }[];
}

export interface HostThread {
  readonly id: string;
  readonly name: string;
  readonly frames: number; // Python functions
  readonly others: number; // operators, ranges, calls of the device's runtime
  readonly flame?: Flame; // of a thread that is open
}

// Stretches, each until the next begins; where something changes within one pixel, the least and the most of it.
export interface Counter {
  readonly id: string;
  readonly name: string;
  readonly unit: 'bytes' | 'launches';
  readonly start: readonly number[];
  readonly least: readonly number[];
  readonly most: readonly number[];
  readonly length: number; // of the step
  readonly peak: { readonly time: number; readonly value: number };
  readonly mean?: number;
  readonly laid?: boolean; // of a slower step of the same run, laid on this one
}

export interface Stretches {
  readonly start: readonly number[];
  readonly duration: readonly number[];
}

// Another process of the run, or the shown one, on the axis of the shown step: its clock is corrected.
export interface RankLane {
  readonly rank: number;
  readonly shown: boolean;
  readonly profile?: string; // absent where it cannot be shown by itself
  readonly wall: number; // of its own step
  readonly waits: number; // in it, for the last to come to a collective, while it does nothing else
  readonly transfers: number;
  readonly ahead: number; // its clock, by which it was corrected
  readonly work: Stretches; // it worked, other than by exchanging
  readonly waiting: Stretches; // in a collective until the last came
  readonly transferring: Stretches; // in it from then on
}

export interface Lanes {
  readonly profile: string;
  readonly step: number;
  readonly window: Span;
  readonly pixel: number;
  readonly threads: readonly HostThread[]; // the main thread first
  readonly moreThreads: number;
  readonly counters: readonly Counter[];
  readonly ranks?: readonly RankLane[];
}
