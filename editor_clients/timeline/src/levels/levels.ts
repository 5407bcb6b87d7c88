// The canvas with the levels: draws what the state says, once a frame at most, and keeps in view what the cursor is on.
//
// The canvas is as large as the pane and stays in view while the pane scrolls; only what is on the screen is drawn.
import { element } from '../base/dom';
import { readColours, type Colours } from '../base/palette';
import { createLevelCanvas } from '../drawing/canvas';
import type { Marks } from '../drawing/draw';
import { savePicture, type Save } from '../drawing/export_picture';
import { layoutPicture, trackWidth, type Picture } from '../layout/layout';
import type { InState } from '../state/in_state';
import { shownLevels, type Drawn } from '../view/shown';
import { leadFurther } from './lead';
import { marksOf, type Marked } from './marks';
import { createLevelPointer, type Acting, type PointedAt } from './pointer_events';
import { followCursor, scrolledTo } from './scroll';

export type LevelsState = Drawn & Marked & PointedAt & InState<'leading'>;

interface Around extends Acting {
  readonly measured: (trackWidth: number) => void; // pixels
  readonly save: Save;
}

export interface Levels {
  readonly pane: HTMLElement;
  readonly trackWidth: () => number;
  readonly recolour: () => void;
  readonly colours: () => Colours;
  readonly savePicture: (kind: 'svg' | 'png') => void;
  readonly render: (state: LevelsState, before: LevelsState | undefined) => void;
}

export function createLevels(first: LevelsState, { measured, save, ...around }: Around): Levels {
  const canvas = createLevelCanvas();
  const spacer = element('div');
  const pane = element(
    'div',
    {
      class: 'levels',
      attributes: { tabindex: '0', role: 'application', 'aria-label': 'Timeline: arrows move, Enter opens, ? shows all keys' },
    },
    canvas.root,
    spacer,
  );
  let shown = first;
  let colours: Colours | undefined;
  let picture: Picture = layoutPicture([], 1);
  let frame = 0;
  let size = { width: 1, height: 1 }; // of the pane: asking the page for it in the middle of a change makes it lay out twice

  const coloursNow = (): Colours => (colours ??= readColours(document.body));
  const width = (): number => trackWidth(size.width);

  function measure(): void {
    size = { width: Math.max(1, pane.clientWidth), height: Math.max(1, pane.clientHeight) };
    measured(Math.floor(width()));
  }

  const marks = (): Marks => marksOf(shown, pointer.hover());
  const layout = (): Picture => layoutPicture(shownLevels(shown, width()), size.width);

  function makeRoom(height: number): void {
    const below = `${Math.max(0, height - size.height)}px`;
    if (spacer.style.height !== below) spacer.style.setProperty('height', below);
  }

  function draw(): void {
    frame = 0;
    picture = layout();
    makeRoom(picture.height);
    canvas.draw(picture, marks(), coloursNow(), size, pane.scrollTop);
  }

  const redraw = (): void => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };

  const pointer = createLevelPointer(pane, { ...around, shown: () => shown, picture: () => picture, width, redraw });

  pane.addEventListener('scroll', () => {
    pointer.hideTip();
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
    if (following) scrollToCursor();
    cancelAnimationFrame(frame);
    draw();
    if (document.activeElement === document.body) pane.focus({ preventScroll: true });
  }).observe(pane);

  // Until somebody scrolls, the cursor stays in view.
  let following = false;
  for (const event of ['wheel', 'pointerdown']) pane.addEventListener(event, () => (following = false), { passive: true });

  function scrollToCursor(): void {
    const next = layout();
    makeRoom(next.height);
    pane.scrollTop = scrolledTo(next, shown.view, pane.scrollTop, size.height);
  }

  function lead(): void {
    const path = size.height > 1 ? leadFurther(shown, width(), size.height) : undefined;
    if (path !== undefined) around.dispatch({ type: 'lead', path });
  }

  function render(state: LevelsState, before: LevelsState | undefined): void {
    shown = state;
    if (before === undefined) return; // the first picture waits for the size of the pane
    if (state.levels !== before.levels || state.lanes !== before.lanes) lead();
    const follow = followCursor(following, state, before);
    following = follow.following;
    if (follow.scroll) scrollToCursor();
    const [now, then] = [state.view, before.view];
    const others = state.overview !== before.overview || now.step !== then.step || now.profile !== then.profile;
    if (others || now.path !== then.path || now.zooms !== then.zooms) pointer.hideTip();
    if (state.pointed !== before.pointed) pointer.retell();
    redraw();
  }

  return {
    pane,
    trackWidth: width,
    recolour() {
      colours = undefined;
      redraw();
    },
    colours: coloursNow,
    savePicture: (kind) => savePicture(save, kind, picture, marks(), coloursNow(), 'hotlens-timeline'),
    render,
  };
}
