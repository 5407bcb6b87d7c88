// What the pointer and the keys do on the two handles, as a state machine: (state, event) → (state, effects). The widget carries the effects out.
// Pure.
import { clampedSize, costAt, sizeAt, topOf, shownBy, type BatchModel, type Gauge } from './batch_model';

export interface DragState {
  readonly size: number; // the one that is shown
  readonly drag?: {
    readonly gauge: Gauge;
    readonly from: number; // the size before it
    readonly off: number; // of the pointer from the handle's middle, as a share of the gauge
  };
}

// `at`: where the pointer is, as a share of the gauge.
export type DragInput =
  | { readonly type: 'down'; readonly gauge: Gauge; readonly at: number; readonly onHandle: boolean }
  | { readonly type: 'move'; readonly at: number }
  | { readonly type: 'up' }
  | { readonly type: 'cancel' } // Escape, or the pointer was taken away
  | { readonly type: 'key'; readonly key: string };

export type DragEffect =
  | { readonly type: 'show' } // another size
  | { readonly type: 'grab'; readonly gauge: Gauge }
  | { readonly type: 'release' }
  | { readonly type: 'choose'; readonly size: number }
  | { readonly type: 'consume' }; // nobody else does anything about the key

export type DragStep = readonly [state: DragState, effects: readonly DragEffect[]];

// Where the handle stands, as a share of the gauge; a size whose speed is not known leaves it at the end of what is.
export function handleAt(model: BatchModel, gauge: Gauge, size: number): number {
  const value = shownBy(gauge, costAt(model, size));
  if (value !== undefined) return value / topOf(model, gauge);
  const timed = model.points.filter(({ step }) => step !== undefined).at(-1);
  return timed === undefined ? 0 : shownBy(gauge, costAt(model, timed.batchSize))! / topOf(model, gauge);
}

const shown = (state: DragState, size: number): DragStep => [{ ...state, size }, size === state.size ? [] : [{ type: 'show' }]];

function followed(state: DragState, at: number, model: BatchModel): DragStep {
  if (state.drag === undefined) return [state, []];
  const { gauge, off } = state.drag;
  return shown(state, sizeAt(model, gauge, (at - off) * topOf(model, gauge), state.size));
}

function pressed(state: DragState, { gauge, at, onHandle }: DragInput & { type: 'down' }, model: BatchModel): DragStep {
  const off = onHandle ? at - handleAt(model, gauge, state.size) : 0;
  const grabbed: DragState = { size: state.size, drag: { gauge, from: state.size, off } };
  const [next, effects] = onHandle ? ([grabbed, []] as const) : followed(grabbed, at, model);
  return [next, [{ type: 'grab', gauge }, ...effects]];
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

function typed(state: DragState, key: string, model: BatchModel): DragStep {
  const asked = sizeByKey(key, state.size, model);
  if (asked === undefined) return [state, []];
  const size = clampedSize(model, asked);
  const [next, effects] = shown({ size: state.size }, size);
  return [next, [{ type: 'consume' }, ...effects, ...(size === state.size ? [] : [{ type: 'choose' as const, size }])]];
}

function cancelled({ drag, size }: DragState): DragStep {
  if (drag === undefined) return [{ size }, []];
  const [state, effects] = shown({ size }, drag.from);
  return [state, [...effects, { type: 'release' }]];
}

function typedWhileDragging(state: DragState, key: string): DragStep {
  const [next, effects] = key === 'Escape' ? cancelled(state) : ([state, []] as const);
  return [next, key === 'Tab' ? effects : [{ type: 'consume' }, ...effects]];
}

export function dragStep(state: DragState, event: DragInput, model: BatchModel): DragStep {
  switch (event.type) {
    case 'down':
      return pressed(state, event, model);
    case 'move':
      return followed(state, event.at, model);
    case 'up':
      return state.drag === undefined ? [state, []] : [{ size: state.size }, [{ type: 'release' }, { type: 'choose', size: state.size }]];
    case 'cancel':
      return cancelled(state);
    case 'key':
      return state.drag === undefined ? typed(state, event.key, model) : typedWhileDragging(state, event.key);
  }
}
