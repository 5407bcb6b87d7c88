// The messages of protocol/TIMELINE.md as types, those of profiles and steps here: what the page asks, what it is told. Times are nanoseconds
// after the step's start. Every string that came out of a trace is hostile text: it is shown through textContent or drawn on a canvas, never
// parsed.

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

export type Span = readonly [from: number, to: number];
