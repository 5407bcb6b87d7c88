// The messages of protocol/TIMELINE.md as types: what the page asks, what it is told. Times are nanoseconds after the step's start.
// Every string that came out of a trace is hostile text: it is shown through textContent or drawn on a canvas, never parsed.

export type Path = readonly string[];

export interface ProfileSummary {
  readonly id: string;
  readonly source: string;
  readonly created?: string | number;
  readonly torch?: string;
  readonly device?: string;
  readonly stepNs?: number;
  readonly written?: number; // ms of any clock; absent where the file is gone
}

export interface Profiles {
  readonly profiles: readonly ProfileSummary[];
  readonly current?: string;
}

export interface Evidence {
  readonly what: string;
  readonly time: number;
  readonly where: string;
  readonly path?: Path;
}

export interface Verdict {
  readonly kind: string;
  readonly evidence: readonly Evidence[];
}

// A change that the recording gives evidence for, and the most that it could give.
export interface Finding {
  readonly kind: string;
  readonly title: string;
  readonly file?: string;
  readonly line?: number;
  readonly low: number; // of step times, changed to recorded, at best
  readonly savedAtMost: number;
  readonly onlyMeasured?: true; // what it gives only runs tell: the two numbers above say nothing
  readonly evidence: readonly Evidence[];
  readonly assumes: readonly string[];
}

// What would be left of the step, as a fraction, if one side took half its time.
export interface Sensitivity {
  readonly kernels: number;
  readonly host: number;
}

// The same if communication with other processes ran beside other work, and without any.
export interface CommunicationSensitivity {
  readonly hidden: number;
  readonly without: number;
}

export interface StepSummary {
  readonly index: number;
  readonly wall: number;
  readonly device: number;
  readonly outlier: boolean;
  readonly differences: readonly { readonly what: string; readonly excess: number }[];
}

// What ran when most memory was held.
export interface PeakMoment {
  readonly stage: string;
  readonly module?: string;
  readonly path?: Path; // of that module
  readonly time?: number; // absent where it was seen in a step of its own
}

export interface Overview {
  readonly profile: {
    readonly id: string;
    readonly source: string;
    readonly created?: string | number;
    readonly torch?: string;
    readonly devices: readonly string[];
    readonly model?: string;
    readonly samplesPerSecond?: number;
    readonly plainStepNs?: number;
    readonly rareNs?: number;
    readonly guessed: boolean;
  };
  readonly steps: readonly StepSummary[];
  readonly representative: number;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly hasDevice: boolean;
  readonly stages: readonly { readonly stage: string; readonly wall: number; readonly device: number; readonly waiting: number }[];
  readonly buckets: readonly { readonly bucket: string; readonly wall: number; readonly device: number }[];
  readonly verdict?: Verdict;
  readonly findings: readonly Finding[]; // the largest first
  readonly sensitivity?: Sensitivity;
  readonly communicationSensitivity?: CommunicationSensitivity;
  readonly memoryPeak?: number;
  readonly memoryPeakAt?: PeakMoment;
  readonly memoryStart?: number;
  readonly memoryCapacity?: number;
  readonly warnings: readonly string[];
  readonly compareWith: readonly string[];
}

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

// What the runs of a track are drawn as (runs.ts): those of run i are from `first[i]` to `first[i + 1]`.
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

export type Span = readonly [from: number, to: number];

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
