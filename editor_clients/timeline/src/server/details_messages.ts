// What the server tells of one block, of idle time and of a chosen range: times, kernels, places in the code, launches.
import type { Block } from './level_messages';
import type { Path, Verdict } from './messages';

export interface Times {
  readonly cpuTotal?: number;
  readonly cpuSelf?: number;
  readonly device?: number;
  readonly waiting?: number;
  readonly span?: number;
  readonly idleBefore?: number;
  readonly idleInside?: number;
  readonly exposedCommunication?: number;
}

export interface Kernel {
  readonly name: string;
  readonly short: string;
  readonly family: string;
  readonly type?: string;
  readonly tile?: string;
  readonly calls: number;
  readonly time: number;
}

// Those that a list leaves out.
export interface Others {
  readonly count: number;
  readonly time: number;
}

export interface Place {
  readonly what: 'definition' | 'call' | 'class' | 'stage';
  readonly file: string;
  readonly line: number;
  readonly endLine: number;
  readonly function: string;
  readonly text: readonly string[];
  readonly firstLine: number;
  readonly guessed: boolean;
  readonly workspace: boolean;
}

// Of the text that was executed, both 0-based and within.
export interface Lines {
  readonly file: string;
  readonly line: number;
  readonly endLine: number;
}

export interface Memory {
  readonly parameters?: number;
  readonly gradients?: number;
  readonly optimizer?: number;
  readonly activations?: number;
  readonly temporary?: number;
  readonly atPeak?: number; // of all kinds, when the step held most
}

// Exchanges between processes; bandwidths in bytes a second, at least so much: the time holds the waiting for other processes.
export interface Collective {
  readonly operation: string;
  readonly group: string;
  readonly calls: number;
  readonly time: number;
  readonly exposed: number; // part of it beside which no other device work runs
  readonly type?: string;
  readonly processes?: number;
  readonly algorithm?: string;
  readonly bytes?: number;
  readonly algorithmBandwidth?: number;
  readonly busBandwidth?: number;
}

// Products, convolutions and attention of equal arguments.
export interface OperatorCost {
  readonly name: string;
  readonly shapes: string;
  readonly type?: string;
  readonly calls: number;
  readonly time: number;
  readonly flopsPerSecond: number;
  readonly bytesPerSecond?: number;
  readonly ofRoof?: number;
}

export interface Details extends Block {
  readonly profile?: string;
  readonly step?: number;
  readonly name?: string; // in full
  readonly module?: string;
  readonly calls: number;
  readonly share: number;
  readonly times: Times;
  readonly forward?: Times;
  readonly backward?: Times;
  readonly spread?: { readonly of: string; readonly p10: number; readonly median?: number; readonly p90: number; readonly steps: number };
  readonly memory?: Memory;
  readonly shapes?: string;
  readonly plain?: number; // of a stage: an update without the profiler, by the clocks of its lines
  readonly withoutModule?: string; // why a kernel has no module of its own
  readonly kernels: readonly Kernel[];
  readonly moreKernels?: Others;
  readonly collectives?: readonly Collective[];
  readonly costs?: readonly OperatorCost[]; // longest first
  readonly roof?: { readonly device: string; readonly published: boolean };
  readonly shortens?: readonly { readonly what: string; readonly time: number }[]; // longest first
  readonly verdict?: Verdict;
  readonly places: readonly Place[];
}

export interface Arrow {
  readonly launchTrack: string;
  readonly launch: number;
  readonly deviceTrack: string;
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly delay: number;
}

export interface Arrows {
  readonly arrows: readonly Arrow[];
  readonly total: number;
}

// Why nothing runs at a moment; nothing in it where something does.
export interface Idle {
  readonly start?: number;
  readonly end?: number;
  readonly parts: readonly { readonly what: string; readonly time: number }[]; // longest first
  readonly doing: readonly {
    readonly what: string;
    readonly waits: boolean;
    readonly time: number;
    readonly file?: string;
    readonly line?: number;
  }[];
  readonly next?: {
    readonly label: string;
    readonly path: Path;
    readonly launch?: string;
    readonly caller?: string;
    readonly launched?: number; // start of the launch
    readonly launching?: number; // how long it took
    readonly delay?: number; // from its end to the work's start
  };
}

// What ran between two moments, cut at both.
export interface RangeSums {
  readonly from: number;
  readonly to: number;
  readonly device: number;
  readonly tracks: readonly { readonly id: string; readonly name: string; readonly busy: number }[];
  readonly stages: readonly { readonly name: string; readonly time: number }[]; // longest first
  readonly layers: readonly { readonly name: string; readonly time: number }[];
  readonly exposedCommunication?: number;
  readonly kernels: readonly Kernel[];
  readonly moreKernels?: Others;
  readonly operators: readonly Kernel[];
  readonly moreOperators?: Others;
}
