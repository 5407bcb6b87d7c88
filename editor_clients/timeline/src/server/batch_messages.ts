// What other batch sizes would cost, as `hotlens/timeline/batchSizes` tells it.

export interface BatchPoint {
  readonly batchSize: number;
  readonly measured: boolean;
  readonly step?: number; // ns; absent: its time is not known
  readonly low?: number;
  readonly high?: number;
  readonly samplesPerSecond?: number;
  readonly peak: number; // bytes
  readonly note?: string;
}

// Where a file sets the measured size: the line is `before`, the number, `after`.
export interface BatchPlace {
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

// Where memory ends: tensors of the `largest` size fit into `bytes` of `of`, which may be empty.
export interface MemoryEnd {
  readonly bytes: number;
  readonly of: string;
  readonly largest: number;
}

export interface BatchSizes {
  readonly profile: string;
  readonly batchSize?: number; // the measured one
  readonly points: readonly BatchPoint[]; // by size
  readonly refused: readonly { readonly batchSize: number; readonly reason: string }[];
  readonly memory?: MemoryEnd;
  readonly places: readonly BatchPlace[];
  readonly predict: 'offered' | 'running' | 'none';
  readonly commands: readonly string[]; // what to type where nothing can be started here
  readonly why?: string;
  readonly edits: boolean;
}
