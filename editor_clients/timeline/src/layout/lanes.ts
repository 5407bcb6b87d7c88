// What stands below the tracks of the step: every thread of the host, closed at first, and what is counted over time. Layout and what is
// under a point; pure.
import { bisectRight } from 'd3-array';
import type { Counter, FlameRow, HostThread, Lanes, RankLane } from '../server/lane_messages';
import { toPixel, toTime, type Scale } from './scale';

export const HEAD_HEIGHT = 20;
export const FLAME_HEIGHT = 17; // of one row, with a pixel between two
export const COUNTER_HEIGHT = 34;
export const RANK_HEIGHT = 24; // work above, collectives below
const COUNTER_GAP = 8;
const REACH = 4; // pixels around a peak that count as it
export const GROUP = 'threads'; // the head of all threads, where there are several
export const RANKS = 'ranks'; // the head of all ranks

export type LaneRow =
  | {
      readonly kind: 'head';
      readonly top: number;
      readonly id: string;
      readonly text: string;
      readonly open: boolean;
      readonly inset: number;
    }
  | { readonly kind: 'flame'; readonly top: number; readonly thread: HostThread; readonly row: FlameRow }
  | { readonly kind: 'rank'; readonly top: number; readonly rank: RankLane }
  | { readonly kind: 'counter'; readonly top: number; readonly counter: Counter };

const HEIGHTS = { head: HEAD_HEIGHT, flame: FLAME_HEIGHT, rank: RANK_HEIGHT, counter: COUNTER_HEIGHT } as const;
export const heightOf = ({ kind }: LaneRow): number => HEIGHTS[kind];

const grouped = (count: number): string => count.toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');

const named = (count: number, one: string, many: string): string[] =>
  count === 0 ? [] : [`${grouped(count)} ${count === 1 ? one : many}`];

// "CPU main: 1 385 Python functions, 611 operators and calls"
function threadWords({ name, frames, others, flame }: HostThread): string {
  const holds = [...named(frames, 'Python function', 'Python functions'), ...named(others, 'operator or call', 'operators and calls')];
  const outer = flame === undefined || flame.outer.length === 0 ? '' : ` · all of it in ${flame.outer.map(frameName).join(' › ')}`;
  const deeper = flame === undefined || flame.deeper === 0 ? '' : ` · ${grouped(flame.deeper)} deeper ones are not drawn`;
  return `${name}: ${holds.join(', ')}${outer}${deeper}`;
}

function groupWords({ threads, moreThreads }: Lanes): string {
  const frames = threads.reduce((sum, each) => sum + each.frames, 0);
  const words = named(frames, 'Python function', 'Python functions').map((each) => `, ${each}`);
  return `${threads.length + moreThreads} host threads${words.join('')}`;
}

const ranksWords = (ranks: readonly RankLane[]): string =>
  `${ranks.length} ranks of this run, clocks corrected: work above, collectives below (hatched: waiting for the last to come)`;

// The function's own name of "pkg/file.py(41): forward", "nn.Module: Linear_3", "<built-in method view of Tensor object at 0x7f>".
export function frameName(label: string): string {
  const builtin = /^<built-in (?:method|function) (\S+?)(?: of .*)?>$/.exec(label)?.[1];
  return builtin ?? label.replace(/^nn\.Module: /, '').replace(/^.*\(\d+\): /, '');
}

export interface LanesLayout {
  readonly rows: readonly LaneRow[];
  readonly bottom: number;
}

// `toggled`: what is not as it is at first; threads are closed then, ranks and counters open.
export function layoutLanes(lanes: Lanes | undefined, toggled: readonly string[], top: number): LanesLayout {
  const rows: LaneRow[] = [];
  let at = top;
  const put = (row: LaneRow): void => {
    rows.push(row);
    at += heightOf(row);
  };
  const isToggled = (id: string): boolean => toggled.includes(id);
  const ranks = lanes?.ranks ?? [];
  const ranksOpen = !isToggled(RANKS);
  if (ranks.length > 0) put({ kind: 'head', top: at, id: RANKS, text: ranksWords(ranks), open: ranksOpen, inset: 0 });
  for (const rank of ranksOpen ? ranks : []) put({ kind: 'rank', top: at, rank });
  const threads = lanes?.threads ?? [];
  const several = threads.length > 1;
  if (several) put({ kind: 'head', top: at, id: GROUP, text: groupWords(lanes!), open: isToggled(GROUP), inset: 0 });
  for (const thread of several && !isToggled(GROUP) ? [] : threads) {
    const open = isToggled(thread.id);
    put({ kind: 'head', top: at, id: thread.id, text: threadWords(thread), open, inset: several ? 1 : 0 });
    for (const row of open ? (thread.flame?.rows ?? []) : []) put({ kind: 'flame', top: at, thread, row });
  }
  for (const counter of lanes?.counters ?? []) {
    if (isToggled(counter.id)) {
      put({ kind: 'head', top: at, id: counter.id, text: counter.name, open: false, inset: 0 });
      continue;
    }
    at += COUNTER_GAP;
    put({ kind: 'counter', top: at, counter });
  }
  return { rows, bottom: at };
}

export const toggledWith = (toggled: readonly string[], id: string): readonly string[] =>
  toggled.includes(id) ? toggled.filter((each) => each !== id) : [...toggled, id];

// All threads are listed and the main one is open, or everything is closed again.
export function toggledThreads(toggled: readonly string[], { threads }: Lanes): readonly string[] {
  const wanted = [...(threads.length > 1 ? [GROUP] : []), ...threads.slice(0, 1).map(({ id }) => id)];
  const rest = toggled.filter((id) => id !== GROUP && threads.every((thread) => thread.id !== id));
  return wanted.every((id) => toggled.includes(id)) ? rest : [...rest, ...wanted];
}

export interface BarHit {
  readonly thread: HostThread;
  readonly row: FlameRow;
  readonly index: number;
}

export type LaneHit =
  | { readonly kind: 'head'; readonly id: string; readonly open: boolean }
  | { readonly kind: 'bar'; readonly bar: BarHit }
  | { readonly kind: 'rank'; readonly rank: RankLane }
  | { readonly kind: 'counter'; readonly counter: Counter; readonly at: number; readonly peak: boolean };

// `names`: where the tracks begin; before it stand the counters' names, which close them.
export function hitLane(rows: readonly LaneRow[], scale: Scale, x: number, y: number): LaneHit | undefined {
  const row = rows.find((each) => y >= each.top && y < each.top + heightOf(each));
  if (row === undefined) return undefined;
  if (row.kind === 'head') return { kind: 'head', id: row.id, open: row.open };
  if (row.kind === 'rank') return { kind: 'rank', rank: row.rank };
  const inside = x >= scale.left && x <= scale.left + scale.width;
  if (row.kind === 'counter') {
    if (!inside) return x < scale.left ? { kind: 'head', id: row.counter.id, open: true } : undefined;
    const peak = Math.abs(toPixel(scale, row.counter.peak.time) - x) <= REACH;
    return { kind: 'counter', counter: row.counter, at: toTime(scale, x), peak };
  }
  const { start, duration } = row.row;
  const at = toTime(scale, x);
  const index = bisectRight(start as number[], at) - 1;
  const hit = inside && index >= 0 && at < start[index]! + duration[index]!;
  return hit ? { kind: 'bar', bar: { thread: row.thread, row: row.row, index } } : undefined;
}

// What is held at a moment: of a stretch of many changes the most.
export function valueAt({ start, most }: Counter, at: number): number | undefined {
  const index = bisectRight(start as number[], at) - 1;
  return index < 0 ? undefined : most[index];
}
