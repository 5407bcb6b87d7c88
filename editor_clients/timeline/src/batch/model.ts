// Throughput and peak memory as functions of the batch size, through the sizes that were measured and predicted. Between two of them the step
// time and the peak lie on a straight line; beyond them nothing is known. Pure.
//
// The peak is the largest of several straight lines, so between two points it is at most what this says.
import type { BatchPoint, BatchSizes, MemoryEnd } from '../server/batch_messages';

export type Gauge = 'throughput' | 'memory';

export interface Spread {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface BatchModel {
  readonly base: BatchPoint; // the measured one
  readonly points: readonly BatchPoint[];
  readonly least: number;
  readonly most: number;
  readonly memory?: MemoryEnd;
}

export interface Cost {
  readonly batchSize: number;
  readonly measured: boolean;
  readonly rate?: Spread; // samples per second; absent: not known
  readonly peak: number; // bytes
}

const SNAPS = 0.003; // of a gauge: sizes may lie closer than pixels; so near a point, that one is meant
const NEAR = 0.004; // of a gauge: sizes whose values are so close are the same to the pointer
const SECOND = 1e9; // ns
const HEADROOM = 1.04; // of a gauge: what is most does not touch its end
const WIDE = 1.25; // times the largest throughput: of an interval beyond it the end is not seen
const FAR = 2; // times the largest predicted peak: memory that ends beyond is told in words

// Nothing where no other size than the measured one is known.
export function modelOf({ points, memory }: BatchSizes): BatchModel | undefined {
  const base = points.find(({ measured }) => measured);
  if (base === undefined || points.length < 2) return undefined;
  const [least, most] = [points[0]!.batchSize, points.at(-1)!.batchSize];
  return { base, points, least, most, ...(memory === undefined ? {} : { memory }) };
}

const between = (from: number, to: number, share: number): number => from + (to - from) * share;

function timesBetween(one: BatchPoint, other: BatchPoint, share: number): Spread | undefined {
  if (one.step === undefined || other.step === undefined) return undefined;
  const of = (key: 'step' | 'low' | 'high'): number => between(one[key] ?? one.step!, other[key] ?? other.step!, share);
  return { value: of('step'), low: of('low'), high: of('high') };
}

// `step`: of one step, ns.
const rateOf = (batchSize: number, step: Spread): Spread => ({
  value: (batchSize / step.value) * SECOND,
  low: (batchSize / step.high) * SECOND,
  high: (batchSize / step.low) * SECOND,
});

export const clampedSize = ({ least, most }: BatchModel, batchSize: number): number =>
  Math.min(most, Math.max(least, Math.round(batchSize)));

export function costAt(model: BatchModel, size: number): Cost {
  const batchSize = clampedSize(model, size);
  const after = Math.max(
    1,
    model.points.findIndex((point) => point.batchSize >= batchSize),
  );
  const [one, other] = [model.points[after - 1]!, model.points[after]!];
  const share = (batchSize - one.batchSize) / (other.batchSize - one.batchSize);
  // On a point its own time counts, also where that of the next one is not known.
  const [from, to] = share === 0 ? [one, one] : share === 1 ? [other, other] : [one, other];
  const times = timesBetween(from, to, share);
  const peak = Math.round(between(one.peak, other.peak, share));
  const measured = batchSize === model.base.batchSize;
  return { batchSize, measured, peak, ...(times === undefined ? {} : { rate: rateOf(batchSize, times) }) };
}

// Steps that differ so much say nothing of how fast it may be at best.
const OPEN = 10; // times the throughput
export const isOpen = ({ value, high }: Spread): boolean => high > OPEN * value;

export const shownBy = (gauge: Gauge, cost: Cost): number | undefined => (gauge === 'memory' ? cost.peak : cost.rate?.value);

// The value at the right end of a gauge: what memory there is, where the predicted sizes come near it.
export function topOf(model: BatchModel, gauge: Gauge): number {
  const costs = model.points.map(({ batchSize }) => costAt(model, batchSize));
  if (gauge === 'throughput') {
    const most = Math.max(1e-9, ...costs.map(({ rate }) => rate?.value ?? 0));
    const high = Math.max(...costs.map(({ rate }) => rate?.high ?? 0));
    return HEADROOM * Math.min(WIDE * most, Math.max(most, high));
  }
  const most = Math.max(1, ...costs.map(({ peak }) => peak));
  return HEADROOM * (isEndInSight(model, most) ? Math.max(most, model.memory!.bytes) : most);
}

const isEndInSight = ({ memory }: BatchModel, most: number): boolean => memory !== undefined && memory.bytes <= FAR * most;

// Where memory ends, as a share of the gauge; nothing where that is beyond its right end.
export function endOn(model: BatchModel, gauge: Gauge): number | undefined {
  const { memory, least, most } = model;
  if (memory === undefined) return undefined;
  const top = topOf(model, gauge);
  if (gauge === 'memory') return memory.bytes <= top ? memory.bytes / top : undefined;
  if (memory.largest < least || memory.largest > most) return undefined;
  const value = shownBy(gauge, costAt(model, memory.largest));
  return value === undefined ? undefined : value / top;
}

export const fits = ({ memory, base }: BatchModel, batchSize: number): boolean =>
  memory === undefined || batchSize <= memory.largest || batchSize === base.batchSize;

// Sizes between two points at which the gauge shows `value`: the peak is a line in the size, the time as well, so the rate is b / (a + k b).
function solutions(gauge: Gauge, value: number, one: BatchPoint, other: BatchPoint): number[] {
  const span = other.batchSize - one.batchSize;
  if (gauge === 'memory') return [one.batchSize + ((value - one.peak) / (other.peak - one.peak)) * span];
  if (one.step === undefined || other.step === undefined) return [];
  const k = (other.step - one.step) / span;
  const a = one.step - k * one.batchSize;
  const rate = value / SECOND;
  return [(rate * a) / (1 - rate * k)];
}

// The points of each stretch over which the gauge goes one way; those without a value are in none.
function stretches(model: BatchModel, gauge: Gauge): BatchPoint[][] {
  const all: BatchPoint[][] = [];
  let way = 0;
  let before: number | undefined;
  for (const point of model.points) {
    const value = shownBy(gauge, costAt(model, point.batchSize));
    if (value === undefined) continue;
    const next = before === undefined ? 0 : Math.sign(value - before);
    const open = all.at(-1);
    if (open === undefined) all.push([point]);
    else if (way === 0 || next === 0 || next === way) open.push(point);
    else all.push([open.at(-1)!, point]);
    way = next === 0 ? way : next;
    before = value;
  }
  return all;
}

// The size that was measured or predicted itself and shows nearly `value`.
function pointAt(model: BatchModel, gauge: Gauge, value: number): number | undefined {
  const away = ({ batchSize }: BatchPoint): number => Math.abs((shownBy(gauge, costAt(model, batchSize)) ?? Infinity) - value);
  const near = model.points.filter((point) => away(point) <= SNAPS * topOf(model, gauge));
  return near.sort((a, b) => away(a) - away(b))[0]?.batchSize;
}

// The size at which the gauge shows what is closest to `value`. Where several do as well, the one nearest to `near`: a drag goes on where it is.
export function sizeAt(model: BatchModel, gauge: Gauge, value: number, near: number): number {
  const point = pointAt(model, gauge, value);
  if (point !== undefined) return point;
  const off = (size: number): number => Math.abs(shownBy(gauge, costAt(model, size))! - value);
  const nearer = (a: number, b: number): number => (Math.abs(b - near) < Math.abs(a - near) ? b : a);
  const closest = stretches(model, gauge).map((points) => {
    const inside = points.slice(1).flatMap((other, at) => {
      const one = points[at]!;
      const sizes = solutions(gauge, value, one, other).flatMap((size) => [Math.floor(size), Math.ceil(size)]);
      return sizes.filter((size) => size > one.batchSize && size < other.batchSize);
    });
    const sizes = [...points.map(({ batchSize }) => batchSize), ...inside];
    return sizes.reduce((best, size) => (off(size) < off(best) ? size : off(size) === off(best) ? nearer(best, size) : best));
  });
  if (closest.length === 0) return near;
  const alike = Math.min(...closest.map(off)) + NEAR * topOf(model, gauge);
  return closest.filter((size) => off(size) <= alike).reduce(nearer);
}
