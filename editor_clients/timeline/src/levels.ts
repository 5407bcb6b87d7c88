// The canvas with the levels: draws what the state says, once a frame at most, and turns mouse and wheel into commands.
//
// The canvas is as large as the pane and stays in view while the pane scrolls; only what is on the screen is drawn.
import type { Commands } from './commands';
import type { Marks } from './draw';
import { element } from './dom';
import { isPressable, pressLane } from './lane_words';
import { createLevelCanvas } from './level_canvas';
import { createLevelTip, pathOf } from './level_tip';
import { leadFurther } from './lead';
import { layoutPicture, trackWidth, type Picture } from './layout';
import { marksOf } from './marks';
import { readColours, type Colours } from './palette';
import type { Rest } from './point';
import { NOWHERE, pointerStep, type Effect, type PointerInput, type Spot } from './pointer';
import { shownLevels } from './shown';
import type { State } from './state';
import type { Store } from './store';

export interface Levels {
  readonly pane: HTMLElement;
  readonly trackWidth: () => number;
  readonly recolour: () => void;
  readonly colours: () => Colours;
  readonly picture: () => Picture;
  readonly marks: () => Marks;
  readonly bindCommands: (commands: Commands) => void;
}

export function createLevels(store: Store, rest: Rest): Levels {
  const canvas = createLevelCanvas();
  const spacer = element('div');
  const tip = createLevelTip(store);
  const pane = element(
    'div',
    {
      class: 'levels',
      attributes: { tabindex: '0', role: 'application', 'aria-label': 'Timeline: arrows move, Enter opens, ? shows all keys' },
    },
    canvas.root,
    spacer,
    tip.root,
  );
  let commands: Commands | undefined;
  let colours: Colours | undefined;
  let picture: Picture = layoutPicture([], 1);
  let pointer = NOWHERE;
  let frame = 0;
  let size = { width: 1, height: 1 }; // of the pane: asking the page for it in the middle of a change makes it lay out twice
  let arrived: MouseEvent | undefined; // of the pointer, at the block under it

  const width = (): number => size.width;

  function measure(): void {
    size = { width: Math.max(1, pane.clientWidth), height: Math.max(1, pane.clientHeight) };
    store.setWidth(Math.floor(trackWidth(width())));
  }

  const marks = (): Marks => marksOf(store.get(), pointer.hover);

  function draw(): void {
    frame = 0;
    colours ??= readColours(document.body);
    picture = layoutPicture(shownLevels(store.get(), trackWidth(width())), width());
    const rest = `${Math.max(0, picture.height - size.height)}px`;
    if (spacer.style.height !== rest) spacer.style.setProperty('height', rest);
    canvas.draw(picture, marks(), colours, size, pane.scrollTop);
  }

  const redraw = (): void => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };

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
      const path = pathOf(store.get(), hover);
      rest(path === undefined ? undefined : { path, ...(hover?.seen?.before === undefined ? {} : { before: true }) }); // who rests on a block is told more about it
    }
    tip.show(pointer, pane, event);
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
        return commands?.select(effect.depth, effect.seen);
      case 'press lane':
        return pressLane(effect.lane, store, commands);
      case 'open':
        return commands?.openBlock(effect.depth, effect.seen);
      case 'choose':
        return commands?.choose(effect.depth, effect.span);
      case 'pan':
        return commands?.panBy(effect.depth, effect.ns);
      case 'zoom':
        return commands?.zoomAt(effect.depth, effect.at, effect.factor);
      case 'scroll':
        pane.scrollTop = effect.top;
    }
  }

  function act(event: MouseEvent, input: PointerInput): void {
    const counted = pointer.hover?.lane?.kind === 'counter'; // its moment is drawn
    const [next, effects] = pointerStep(pointer, input, picture);
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
    act(event, { type: 'wheel', spot: spotOf(event), dx, dy, lines: event.deltaMode !== 0, shift, ctrl, zooms: store.get().view.zooms });
  };
  pane.addEventListener('wheel', wheel, { passive: false });
  pane.addEventListener('scroll', () => {
    hideTip();
    redraw();
  });
  // Who comes here by Tab sees that; who opens the page or clicks does not need it.
  pane.addEventListener('keyup', ({ key }) =>
    pane.classList.toggle('reached', key === 'Tab' || (pane.classList.contains('reached') && key === 'Shift')),
  );
  pane.addEventListener('blur', () => pane.classList.remove('reached'));
  // Called between the page's layout and its paint, first of all in the first frame: what is drawn here is in this frame's picture, and what
  // is measured costs no layout.
  new ResizeObserver(() => {
    measure();
    lead();
    cancelAnimationFrame(frame);
    draw();
    if (document.activeElement === document.body) pane.focus({ preventScroll: true });
  }).observe(pane);

  // Levels that arrive may be higher than their places were: until somebody scrolls, the cursor stays in view.
  let following = false;
  for (const event of ['wheel', 'pointerdown']) pane.addEventListener(event, () => (following = false), { passive: true });

  // The level of the cursor, and the one that it opened, are scrolled into the pane.
  function scrollToCursor(state: State): void {
    const shown = layoutPicture(shownLevels(state, trackWidth(width())), width());
    const { path, cursor } = state.view;
    const both = shown.levels.filter(({ depth }) => depth === Math.max(path.length, cursor?.depth ?? 0));
    const upper = cursor?.before !== undefined;
    const own = shown.levels.filter(({ depth, pair }) => depth === cursor?.depth && (pair?.side === 'before') === upper);
    spacer.style.setProperty('height', `${Math.max(0, shown.height - size.height)}px`);
    for (const levels of [both, own]) {
      const [first, last] = [levels[0], levels.at(-1)];
      if (first === undefined || last === undefined) continue;
      const [top, bottom] = [first.titleTop - 8, last.bottom + 8];
      if (bottom > pane.scrollTop + size.height) pane.scrollTop = bottom - size.height;
      if (top < pane.scrollTop) pane.scrollTop = top;
    }
  }

  function lead(): void {
    const path = size.height > 1 ? leadFurther(store.get(), trackWidth(width()), size.height) : undefined;
    if (path !== undefined) store.dispatch({ type: 'lead', path });
  }

  store.subscribe((state, before) => {
    if (state.levels !== before.levels || state.lanes !== before.lanes) lead();
    const { cursor } = state.view;
    const moved =
      state.view.path !== before.view.path ||
      cursor?.depth !== before.view.cursor?.depth ||
      (cursor?.before === undefined) !== (before.view.cursor?.before === undefined);
    const doubled = cursor !== undefined && state.beside.levels.length > before.beside.levels.length;
    const grown = state.levels.length > before.levels.length || doubled;
    following = !state.leading && (following || moved);
    const filled = following && state.levels !== before.levels;
    if ((moved || grown || filled) && !state.leading) scrollToCursor(state);
    const { path, zooms, step, profile } = before.view;
    const now = state.view;
    if (now.path !== path || now.zooms !== zooms || now.step !== step || now.profile !== profile || state.overview !== before.overview)
      hideTip();
    if (state.pointed !== before.pointed && arrived !== undefined) tip.show(pointer, pane, arrived);
    redraw();
  });

  return {
    pane,
    trackWidth: () => trackWidth(width()),
    recolour() {
      colours = undefined;
      redraw();
    },
    colours: () => (colours ??= readColours(document.body)),
    picture: () => picture,
    marks,
    bindCommands: (given) => void (commands = given),
  };
}
