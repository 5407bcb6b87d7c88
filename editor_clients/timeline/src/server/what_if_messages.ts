// What is known of changes of the step, as `hotlens/timeline/whatIfs` tells it.

// Of step times, changed to recorded.
export interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly words: string; // "≈ −13 % (−16…−10)", "−12.8 % ± 1.1 %, 6 pairs"
}

export interface Outcome {
  readonly kind: string;
  readonly title: string;
  readonly assumes: readonly string[];
  readonly predicted?: Ratio;
  readonly interval?: string; // where it comes from, if that is not usual
  readonly verified?: Ratio & { readonly losses?: string };
  readonly file?: string;
  readonly line?: number;
}

// A choice of blocks to checkpoint, replayed.
export interface PlanPoint {
  readonly blocks: readonly string[]; // paths; none: the unchanged step
  readonly peak: number; // bytes
  readonly step: number; // ns
  readonly low: number;
  readonly high: number;
  readonly change?: string; // "≈ +13 % (+11…+15)"; absent: the unchanged step
}

export interface Checkpoints {
  readonly blocks: number; // to choose from
  readonly points: readonly PlanPoint[]; // the unchanged step first, each with a lower peak
  readonly refused?: string; // why there is no curve
  readonly note?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface WhatIfs {
  readonly profile: string;
  readonly outcomes: readonly Outcome[];
  readonly checkpoints?: Checkpoints; // absent: they were not planned yet
  readonly command?: string; // plans them in a terminal; absent: there is nothing to replay, or no block
  readonly edits: boolean;
  readonly plan?: 'offered' | 'running' | 'none'; // whether the editor behind the page can plan them; absent: there is none
}
