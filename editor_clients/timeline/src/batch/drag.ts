// What the two handles of the batch size stand for: sizes by the values of a bar, and what the keys do. Pure.
import { slide, type Rails, type SlideInput, type SlideState, type SlideStep } from '../base/slider';
import { clampedSize, costAt, sizeAt, topOf, shownBy, type BatchModel, type Gauge } from './model';

export type DragState = SlideState<Gauge>; // `value`: the size that is shown
export type DragInput = SlideInput<Gauge>;

// Where the handle stands, as a share of the gauge; a size whose speed is not known leaves it at the end of what is.
export function handleAt(model: BatchModel, gauge: Gauge, size: number): number {
  const value = shownBy(gauge, costAt(model, size));
  if (value !== undefined) return value / topOf(model, gauge);
  const timed = model.points.filter(({ step }) => step !== undefined).at(-1);
  return timed === undefined ? 0 : shownBy(gauge, costAt(model, timed.batchSize))! / topOf(model, gauge);
}

// The next size that was measured or predicted itself.
function pointBeside({ points }: BatchModel, size: number, by: 1 | -1): number {
  const sizes = points.map(({ batchSize }) => batchSize);
  return (by > 0 ? sizes.find((each) => each > size) : sizes.findLast((each) => each < size)) ?? size;
}

function sizeByKey(key: string, size: number, model: BatchModel): number | undefined {
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return size + 1;
    case 'ArrowLeft':
    case 'ArrowDown':
      return size - 1;
    case 'PageUp':
      return pointBeside(model, size, 1);
    case 'PageDown':
      return pointBeside(model, size, -1);
    case 'Home':
      return model.least;
    case 'End':
      return model.most;
    case 'Escape':
      return model.base.batchSize;
    default:
      return undefined;
  }
}

const railsOf = (model: BatchModel): Rails<Gauge> => ({
  track: (gauge) => ({
    shareOf: (size) => handleAt(model, gauge, size),
    valueAt: (share, near) => sizeAt(model, gauge, share * topOf(model, gauge), near),
  }),
  byKey(key, size) {
    const asked = sizeByKey(key, size, model);
    return asked === undefined ? undefined : clampedSize(model, asked);
  },
});

export const dragStep = (state: DragState, event: DragInput, model: BatchModel): SlideStep<Gauge> => slide(state, event, railsOf(model));
