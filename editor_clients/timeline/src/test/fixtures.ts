// Small levels for tests, and random numbers that a seed repeats.
import type { Block, BlockColumns, Level, Track } from '../server/level_messages';
import type { Overview, Span } from '../server/messages';

// Mulberry32.
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export interface SimpleBlock {
  readonly start: number;
  readonly duration: number;
  readonly label: string;
  readonly kind?: string;
  readonly stage?: string;
  readonly segment?: string;
  readonly open?: boolean;
  readonly count?: number;
  readonly busy?: number; // absent: as long as it is drawn
  readonly whole?: number;
  readonly waiting?: number;
  readonly spans?: number;
}

export function columns(blocks: readonly SimpleBlock[]): BlockColumns {
  const [labels, kinds, stages] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const kind = (block: SimpleBlock): string => block.kind ?? 'module';
  const stage = (block: SimpleBlock): string => block.stage ?? 'forward';
  for (const block of blocks) {
    labels.add(block.label);
    kinds.add(kind(block));
    stages.add(stage(block));
  }
  const position = (names: Set<string>, name: string): number => [...names].indexOf(name);
  const hasPath = (block: SimpleBlock): boolean => kind(block) !== 'idle' && kind(block) !== 'merged';
  return {
    start: blocks.map(({ start }) => start),
    duration: blocks.map(({ duration }) => duration),
    label: blocks.map(({ label }) => position(labels, label)),
    kind: blocks.map((block) => position(kinds, kind(block))),
    stage: blocks.map((block) => position(stages, stage(block))),
    direction: blocks.map(() => 0),
    count: blocks.map(({ count }) => count ?? 1),
    busy: blocks.map(({ busy, duration }) => busy ?? duration),
    whole: blocks.map(({ whole, busy, duration }) => whole ?? busy ?? duration),
    waiting: blocks.map(({ waiting }) => waiting ?? 0),
    spans: blocks.map(({ spans, count, kind }) => spans ?? (kind === 'merged' ? (count ?? 1) : 1)),
    segment: blocks.map((block) => block.segment ?? (hasPath(block) ? block.label : '')),
    open: blocks.map(({ open }) => (open === true ? 1 : 0)),
    labels: [...labels],
    kinds: [...kinds],
    stages: [...stages],
  };
}

export const trackOf = (id: string, blocks: readonly SimpleBlock[], kind: Track['kind'] = 'host'): Track => ({
  id,
  kind,
  name: id,
  blocks: columns(blocks),
  busy: blocks.reduce((sum, { duration }) => sum + duration, 0),
});

const BLOCK: Block = { label: 'b', kind: 'module', stage: 'forward', direction: 0, path: [], start: 0, duration: 0, count: 1 };

export function levelOf(tracks: readonly Track[], extent: Span, rest: Partial<Level> = {}): Level {
  const block = { ...BLOCK, start: extent[0], duration: extent[1] - extent[0] };
  return { profile: 'p', step: 0, path: [], crumbs: [], block, extent, window: extent, pixel: 1, tracks, moreTracks: 0, ...rest };
}

// Of a profile whose steps have these indices and walls.
export function overviewOf(id: string, walls: readonly (readonly [index: number, wall: number])[], rest: Partial<Overview> = {}): Overview {
  const [, median] = walls[0]!;
  return {
    profile: { id, source: 'train.py', devices: [], guessed: false },
    steps: walls.map(([index, wall]) => ({ index, wall, device: 0, outlier: false, differences: [] })),
    representative: 0,
    median,
    p10: median,
    p90: median,
    hasDevice: false,
    stages: [],
    buckets: [],
    findings: [],
    warnings: [],
    compareWith: [],
    ...rest,
  };
}
