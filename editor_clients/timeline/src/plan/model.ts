// The step time that a budget of memory costs, through the choices of blocks that were replayed: within a budget the cheapest of them counts.
// Pure.
import { slide, type Rails, type SlideInput, type SlideState, type SlideStep } from '../base/slider';
import type { Checkpoints, PlanPoint } from '../server/what_if_messages';

export interface PlanModel {
  readonly base: PlanPoint; // the unchanged step
  readonly points: readonly PlanPoint[]; // by peak, the unchanged one last
  readonly least: number; // bytes: the lowest peak
  readonly most: number; // that of the unchanged step
  readonly fastest: number; // ns: where the axis of time begins
  readonly slowest: number;
}

const MARGIN = 0.06; // of an axis, beyond the first and the last point: what stands there is not cut
const FLAT = 0.01; // of the step: an axis is no shorter

// Nothing where there is no choice.
export function planOf({ points }: Checkpoints): PlanModel | undefined {
  const base = points.find(({ blocks }) => blocks.length === 0);
  const others = points.filter(({ blocks, peak }) => blocks.length > 0 && base !== undefined && peak < base.peak);
  if (base === undefined || others.length === 0) return undefined;
  const sorted = [...others.sort((a, b) => a.peak - b.peak), base];
  const fastest = Math.min(...sorted.map(({ low }) => low));
  const slowest = Math.max(...sorted.map(({ high }) => high), fastest + FLAT * base.step);
  return { base, points: sorted, least: sorted[0]!.peak, most: base.peak, fastest, slowest };
}

// The budget of the unchanged step buys that one, whatever noise the others have; one that nothing fits into the lowest peak.
export function choiceAt({ base, points }: PlanModel, budget: number): PlanPoint {
  if (budget >= base.peak) return base;
  const within = points.filter(({ peak, blocks }) => peak <= budget && blocks.length > 0);
  return within.reduce((best, point) => (point.step < best.step ? point : best), within[0] ?? points[0]!);
}

// The budgets at which another choice is the cheapest, the lowest first. A replayed choice is none of them where one with less memory takes
// less time.
export const turns = (model: PlanModel): number[] =>
  model.points.filter((point) => choiceAt(model, point.peak) === point).map(({ peak }) => peak);

// What a budget costs as it grows: from each budget on, until the next one, the step of `point`.
export interface Stair {
  readonly from: number;
  readonly to: number;
  readonly point: PlanPoint;
}
export function stairsOf(model: PlanModel): Stair[] {
  return model.points.slice(0, -1).map(({ peak }, at) => ({ from: peak, to: model.points[at + 1]!.peak, point: choiceAt(model, peak) }));
}

const onAxis = (value: number, from: number, to: number): number => MARGIN + ((value - from) / (to - from)) * (1 - 2 * MARGIN);

// Shares of the plot, from its left and from its bottom.
export const memoryAt = ({ least, most }: PlanModel, bytes: number): number => onAxis(bytes, least, most);
export const timeAt = ({ fastest, slowest }: PlanModel, ns: number): number => onAxis(ns, fastest, slowest);

const clamped = ({ least, most }: PlanModel, budget: number): number => Math.min(most, Math.max(least, Math.round(budget)));

const SNAPS = 0.02; // of the plot: so near a choice its own peak is meant

function budgetAt(model: PlanModel, share: number): number {
  const off = (peak: number): number => Math.abs(memoryAt(model, peak) - share);
  const near = turns(model).reduce((best, peak) => (off(peak) < off(best) ? peak : best));
  if (off(near) <= SNAPS) return near;
  const { least, most } = model;
  return clamped(model, least + ((share - MARGIN) / (1 - 2 * MARGIN)) * (most - least));
}

// Keys go from choice to choice: between two of them nothing changes.
function budgetByKey(key: string, budget: number, model: PlanModel): number | undefined {
  const { least, most } = model;
  const peaks = turns(model);
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
    case 'PageUp':
      return peaks.find((peak) => peak > budget) ?? most;
    case 'ArrowLeft':
    case 'ArrowDown':
    case 'PageDown':
      return peaks.findLast((peak) => peak < budget) ?? least;
    case 'Home':
      return least;
    case 'End':
    case 'Escape':
      return most;
    default:
      return undefined;
  }
}

const railsOf = (model: PlanModel): Rails<'budget'> => ({
  track: () => ({ shareOf: (budget) => memoryAt(model, budget), valueAt: (share) => budgetAt(model, share) }),
  byKey: (key, budget) => budgetByKey(key, budget, model),
});

export type BudgetState = SlideState<'budget'>;
export type BudgetInput = SlideInput<'budget'>;
export const budgetStep = (state: BudgetState, event: BudgetInput, model: PlanModel): SlideStep<'budget'> =>
  slide(state, event, railsOf(model));
export const clampedBudget = clamped;
