// The canvas with the levels: draws what the state says, once a frame at most, and turns mouse and wheel into commands.
//
// The canvas is as large as the pane and stays in view while the pane scrolls; only what is on the screen is drawn.
import { isBeside } from './beside';
import type { Commands } from './commands';
import { drawPicture, type Marks } from './draw';
import { element } from './dom';
import { isPressable, laneLines, pressLane } from './lane_words';
import { leadFurther } from './lead';
import { layoutPicture, trackWidth, type Picture } from './layout';
import { marksOf, stepWall } from './marks';
import type { Details, Path } from './messages';
import { readColours, type Colours } from './palette';
import { canvasPen } from './pen';
import { pinMarks, pinWords } from './pins';
import type { Rest } from './point';
import { NOWHERE, pointerStep, type Effect, type Hit, type PointerInput, type Spot } from './pointer';
import { inOwnTime, shownLevels, type Seen } from './shown';
import { samePath, type State } from './state';
import type { Store } from './store';
import { placeTip, tipLines } from './tip';

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
  const canvas = element('canvas', { attributes: { 'aria-hidden': 'true' } });
  const spacer = element('div');
  const tip = element('div', { class: 'tip', attributes: { role: 'tooltip' } });
  const pane = element(
    'div',
    {
      class: 'levels',
      attributes: { tabindex: '0', role: 'application', 'aria-label': 'Timeline: arrows move, Enter opens, ? shows all keys' },
    },
    canvas,
    spacer,
    tip,
  );
  const context = canvas.getContext('2d', { alpha: false })!;
  let commands: Commands | undefined;
  let colours: Colours | undefined;
  let pen: ReturnType<typeof canvasPen> | undefined;
  let picture: Picture = layoutPicture([], 1);
  let pointer = NOWHERE;
  let frame = 0;
  let pictured = false;

  let size = { width: 1, height: 1 }; // of the pane: asking the page for it in the middle of a change makes it lay out twice

  let arrived: MouseEvent | undefined; // of the pointer, at the block under it

  const width = (): number => size.width;

  const pathOf = (hit: Hit | undefined): Path | undefined =>
    hit?.seen === undefined || hit.seen.segment === ''
      ? undefined
      : [...(hit.seen.before ?? store.get().view.path.slice(0, hit.depth)), hit.seen.segment];

  function measure(): void {
    size = { width: Math.max(1, pane.clientWidth), height: Math.max(1, pane.clientHeight) };
    store.setWidth(Math.floor(trackWidth(width())));
  }

  function resizeCanvas(): number {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width() * ratio), Math.round(size.height * ratio)];
    if (canvas.width !== w || canvas.height !== h || pen === undefined) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.setProperty('width', `${w / ratio}px`);
      canvas.style.setProperty('height', `${h / ratio}px`);
      pen = undefined;
    }
    return ratio;
  }

  const marks = (): Marks => marksOf(store.get(), pointer.hover);

  function draw(): void {
    frame = 0;
    const ratio = resizeCanvas();
    colours ??= readColours(document.body);
    pen ??= canvasPen(context, ratio, colours.font);
    picture = layoutPicture(shownLevels(store.get(), trackWidth(width())), width());
    const rest = `${Math.max(0, picture.height - size.height)}px`;
    if (spacer.style.height !== rest) spacer.style.setProperty('height', rest);
    const top = pane.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width(), size.height);
    context.setTransform(ratio, 0, 0, ratio, 0, -Math.round(top * ratio));
    drawPicture(pen, picture, marks(), colours, [top, top + size.height]);
    if (!pictured && picture.levels[0]?.level !== undefined) {
      pictured = true;
      performance.mark('hotlens first picture');
    }
  }

  const redraw = (): void => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };

  function showTip(event: MouseEvent): void {
    const { hover, press } = pointer;
    const { seen, lane } = hover ?? {};
    tip.classList.toggle('shown', (seen !== undefined || lane !== undefined) && press?.moved !== true);
    if (lane !== undefined) tip.replaceChildren(...laneLines(lane, store.get()));
    else if (seen !== undefined) tip.replaceChildren(...blockLines(hover!.depth, seen));
    else return;
    placeTip(tip, pane, event);
  }

  // What it tells of is not under the pointer any more; the next move of the pointer finds what is.
  function hideTip(): void {
    arrived = undefined;
    tip.classList.remove('shown');
  }

  function blockLines(depth: number, seen: Seen): HTMLElement[] {
    const state = store.get();
    const upper = seen.before !== undefined;
    const side = !isBeside(state.view) ? '' : upper ? 'before' : 'after';
    const mark = upper
      ? undefined
      : pinMarks(state.view.pins, state.view.step, state.view.path.slice(0, depth)).find(({ segment }) => segment === seen.segment);
    const pinned = mark === undefined ? [] : [element('div', { class: 'pinned', text: pinWords(mark) })];
    return [...tipLines(inOwnTime(state, depth, seen), stepWall(state, upper), detailsOf(pathOf(pointer.hover), upper), side), ...pinned];
  }

  function detailsOf(path: Path | undefined, upper: boolean): Details | undefined {
    const { pointed } = store.get();
    const same = pointed?.path !== undefined && path !== undefined && samePath(pointed.path, path) && (pointed.before === true) === upper;
    return same ? pointed.details : undefined;
  }

  function showHover(event: MouseEvent, counted: boolean, changed: boolean): void {
    const { hover } = pointer;
    pane.classList.toggle('over', hover?.seen !== undefined || (hover?.lane !== undefined && isPressable(hover.lane)));
    if (changed || counted || hover?.lane?.kind === 'counter') redraw();
    if (changed) {
      arrived = event;
      const path = pathOf(hover);
      rest(path === undefined ? undefined : { path, ...(hover?.seen?.before === undefined ? {} : { before: true }) }); // who rests on a block is told more about it
    }
    showTip(event);
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
        return tip.classList.remove('shown');
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
    if ((moved || grown) && !state.leading) scrollToCursor(state);
    const { path, zooms, step, profile } = before.view;
    const now = state.view;
    if (now.path !== path || now.zooms !== zooms || now.step !== step || now.profile !== profile || state.overview !== before.overview)
      hideTip();
    if (state.pointed !== before.pointed && arrived !== undefined) showTip(arrived);
    redraw();
  });

  return {
    pane,
    trackWidth: () => trackWidth(width()),
    recolour() {
      colours = undefined;
      pen = undefined;
      redraw();
    },
    colours: () => (colours ??= readColours(document.body)),
    picture: () => picture,
    marks,
    bindCommands: (given) => void (commands = given),
  };
}
