// What mouse and wheel do over the levels: their events go through the pointer's state machine, and its effects are carried out.
import type { Commands } from '../commands/commands';
import type { Rest } from '../commands/point';
import type { Picture } from '../layout/layout';
import type { InView } from '../state/in_state';
import type { Dispatch } from '../state/state';
import { select } from '../view/cursor';
import { choose, panBy, zoomAt } from '../view/zooms';
import { isPressable, pressLane } from './lane_words';
import { NOWHERE, pointerStep, type Effect, type Hit, type PointerInput, type Spot } from './pointer';
import { createLevelTip, pathOf, type Told } from './tip';

export type PointedAt = Told & InView<'zooms' | 'lanes'>;

// What a person's hand leads to.
export interface Acting {
  readonly dispatch: Dispatch;
  readonly rest: Rest;
  readonly commands: () => Commands;
}

interface Around extends Acting {
  readonly shown: () => PointedAt;
  readonly picture: () => Picture;
  readonly width: () => number; // of a track, pixels
  readonly redraw: () => void;
}

export interface LevelPointer {
  readonly hover: () => Hit | undefined;
  readonly retell: () => void; // more is known of what the tip tells
  readonly hideTip: () => void;
}

export function createLevelPointer(pane: HTMLElement, around: Around): LevelPointer {
  const { dispatch, rest, commands, shown, picture, width, redraw } = around;
  const tip = createLevelTip();
  pane.append(tip.root);
  let pointer = NOWHERE;
  let arrived: MouseEvent | undefined; // at the block under it

  // What it tells of is not under the pointer any more; the next move of the pointer finds what is.
  function hideTip(): void {
    arrived = undefined;
    tip.hide();
  }

  function showHover(event: MouseEvent, counted: boolean, changed: boolean): void {
    const { hover } = pointer;
    pane.classList.toggle('over', hover?.seen !== undefined || (hover?.lane !== undefined && isPressable(hover.lane)));
    if (changed || counted || hover?.lane?.kind === 'counter') redraw();
    if (changed) {
      arrived = event;
      const path = pathOf(shown(), hover);
      rest(path === undefined ? undefined : { path, ...(hover?.seen?.before === undefined ? {} : { before: true }) }); // who rests on a block is told more about it
    }
    tip.show(shown(), pointer, pane, event);
  }

  function carryOut(effect: Effect, event: MouseEvent, counted: boolean): void {
    switch (effect.type) {
      case 'hover':
        return showHover(event, counted, effect.changed);
      case 'leave':
        rest(undefined);
        hideTip();
        return redraw();
      case 'grab':
        if (event instanceof PointerEvent) pane.setPointerCapture(event.pointerId);
        pane.classList.add('dragging');
        return tip.hide();
      case 'release':
        return pane.classList.remove('dragging');
      case 'consume':
        return event.preventDefault();
      case 'select':
        return dispatch(...select(shown(), effect));
      case 'press lane':
        return pressLane(effect.lane, shown(), dispatch, commands().reveal);
      case 'open':
        return commands().openBlock(effect.depth, effect.seen);
      case 'choose':
        return dispatch(...choose(shown(), effect.depth, effect.span));
      case 'pan':
        return dispatch(...panBy(shown(), effect.depth, effect.ns));
      case 'zoom':
        return dispatch(...zoomAt(shown(), width(), effect.depth, effect.at, effect.factor));
      case 'scroll':
        pane.scrollTop = effect.top;
    }
  }

  function act(event: MouseEvent, input: PointerInput): void {
    const counted = pointer.hover?.lane?.kind === 'counter'; // its moment is drawn
    const [next, effects] = pointerStep(pointer, input, picture());
    pointer = next;
    for (const effect of effects) carryOut(effect, event, counted);
  }

  const spotOf = (event: MouseEvent): Spot => {
    const box = pane.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, scroll: pane.scrollTop };
  };
  pane.addEventListener('pointerdown', (event) => {
    if (event.button === 0) act(event, { type: 'down', spot: spotOf(event), shift: event.shiftKey });
  });
  pane.addEventListener('pointermove', (event) => act(event, { type: 'move', spot: spotOf(event), pressed: (event.buttons & 1) === 1 }));
  pane.addEventListener('pointerup', (event) => act(event, { type: 'up', spot: spotOf(event) }));
  pane.addEventListener('pointercancel', (event) => act(event, { type: 'cancel' }));
  pane.addEventListener('pointerleave', (event) => act(event, { type: 'leave' }));
  pane.addEventListener('dblclick', (event) => act(event, { type: 'double', spot: spotOf(event) }));
  const wheel = (event: WheelEvent): void => {
    const { deltaX: dx, deltaY: dy, shiftKey: shift, ctrlKey: ctrl } = event;
    const { zooms } = shown().view;
    act(event, { type: 'wheel', spot: spotOf(event), dx, dy, lines: event.deltaMode !== 0, shift, ctrl, zooms });
  };
  pane.addEventListener('wheel', wheel, { passive: false });

  const retell = (): void => {
    if (arrived !== undefined) tip.show(shown(), pointer, pane, arrived);
  };
  return { hover: () => pointer.hover, retell, hideTip };
}
