// The canvas with the levels: draws what the state says, once a frame at most, and turns mouse and wheel into commands.
//
// The canvas is as large as the pane and stays in view while the pane scrolls; only what is on the screen is drawn.
import { arrowNote } from './arrow_note';
import type { Commands } from './commands';
import { drawPicture, type Marks } from './draw';
import { element } from './dom';
import { hitLane, type LaneHit } from './lanes';
import { isPressable, laneLines, pressLane } from './lane_words';
import { leadFurther } from './lead';
import { AXIS_HEIGHT, hitBlock, layoutPicture, trackWidth, TRACK_HEIGHT, type LevelLayout, type Picture } from './layout';
import type { Details, Path } from './messages';
import { readColours, type Colours } from './palette';
import { canvasPen } from './pen';
import type { Rest } from './point';
import { nsPerPixel, toTime } from './scale';
import { seenBlock, shownLevels, type Seen } from './shown';
import { samePath, type State } from './state';
import type { Store } from './store';
import { placeTip, tipLines } from './tip';

const DRAG_FROM = 4; // pixels: a shorter move is a click
const REACH = 3; // pixels around a thin block that count as it
const WHEEL_ZOOM = 0.0016; // of a pixel of wheel
const WHEEL_LINE = 16; // pixels of a line, where the wheel counts lines

export interface Levels {
  readonly pane: HTMLElement;
  readonly trackWidth: () => number;
  readonly recolour: () => void;
  readonly colours: () => Colours;
  readonly picture: () => Picture;
  readonly marks: () => Marks;
  readonly bindCommands: (commands: Commands) => void;
}

interface Hit {
  readonly depth: number;
  readonly level: LevelLayout;
  readonly seen: Seen | undefined;
  readonly lane: LaneHit | undefined;
  readonly at: number; // ns
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
  let hover: Hit | undefined;
  let drag:
    | {
        readonly x: number;
        readonly y: number;
        readonly scroll: number;
        readonly depth: number | undefined;
        readonly from: number | undefined;
        moved: boolean;
        lastX: number;
      }
    | undefined;
  let frame = 0;
  let pictured = false;

  let size = { width: 1, height: 1 }; // of the pane: asking the page for it in the middle of a change makes it lay out twice

  let pointer: MouseEvent | undefined; // where it came to the block under it

  const width = (): number => size.width;

  const pathOf = (hit: Hit | undefined): Path | undefined =>
    hit?.seen === undefined || hit.seen.segment === '' ? undefined : [...store.get().view.path.slice(0, hit.depth), hit.seen.segment];

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

  // ns; the device may work on a step for longer than the host takes for it
  const stepWall = (): number | undefined => store.get().overview?.steps[store.get().view.step ?? -1]?.wall;

  function marks(): Marks {
    const state = store.get();
    const { cursor } = state.view;
    const stepEnd = stepWall();
    return {
      ...(stepEnd === undefined ? {} : { stepEnd }),
      path: state.view.path,
      arrows: cursor === undefined || cursor.segment === '' ? [] : (state.arrows?.arrows ?? []),
      note: cursor === undefined || cursor.segment === '' ? '' : arrowNote(state),
      ...(cursor === undefined ? {} : { cursor }),
      ...(state.range === undefined ? {} : { range: state.range }),
      ...(hover?.lane?.kind === 'counter' ? { counted: { counter: hover.lane.counter.id, at: hover.lane.at } } : {}),
      ...(hover?.seen === undefined ? {} : { hover: { depth: hover.depth, track: hover.seen.track, index: hover.seen.index } }),
    };
  }

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

  function hitAt(event: MouseEvent): Hit | undefined {
    const box = pane.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top + pane.scrollTop];
    const level = picture.levels.find((each) => y >= each.axisTop && y < each.tracksBottom + AXIS_HEIGHT / 2);
    if (level?.level === undefined) return undefined;
    const lane = hitLane(level.lanes, level.scale, x, y);
    if (lane === undefined && (x < level.scale.left || x > level.scale.left + level.scale.width)) return undefined;
    const row = level.tracks.find(({ top }) => y >= top && y < top + TRACK_HEIGHT);
    const index = row?.track === undefined ? undefined : hitBlock(row.track.blocks, level.scale, x, REACH);
    const seen = index === undefined ? undefined : seenBlock(level.level, row!.track!.id, index);
    return { depth: level.depth, level, seen, lane, at: toTime(level.scale, x) };
  }

  function showTip(event: MouseEvent): void {
    const { seen, lane } = hover ?? {};
    tip.classList.toggle('shown', (seen !== undefined || lane !== undefined) && drag?.moved !== true);
    if (lane !== undefined) tip.replaceChildren(...laneLines(lane, store.get()));
    else if (seen !== undefined) tip.replaceChildren(...tipLines(seen, stepWall(), detailsOf(pathOf(hover))));
    else return;
    placeTip(tip, pane, event);
  }

  function detailsOf(path: Path | undefined): Details | undefined {
    const { pointed } = store.get();
    return pointed?.path !== undefined && path !== undefined && samePath(pointed.path, path) ? pointed.details : undefined;
  }

  function hovered(event: MouseEvent): void {
    const [before, counted] = [hover?.seen, hover?.lane?.kind === 'counter'];
    hover = hitAt(event);
    pane.classList.toggle('over', hover?.seen !== undefined || (hover?.lane !== undefined && isPressable(hover.lane)));
    if (counted || hover?.lane?.kind === 'counter') redraw();
    if (before?.track !== hover?.seen?.track || before?.index !== hover?.seen?.index) {
      redraw();
      pointer = event;
      const path = pathOf(hover);
      rest(path === undefined ? undefined : { path }); // who rests on a block is told more about it
    }
    showTip(event);
  }

  function dragged(event: PointerEvent): void {
    if (drag === undefined) return;
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_FROM) return;
    if (!drag.moved) {
      drag.moved = true;
      pane.setPointerCapture(event.pointerId);
      pane.classList.add('dragging');
      tip.classList.remove('shown');
    }
    const level = drag.depth === undefined ? undefined : picture.levels[drag.depth];
    if (level !== undefined && drag.from !== undefined) {
      const [from, to] = [drag.from, toTime(level.scale, event.clientX - pane.getBoundingClientRect().left)];
      return commands?.choose(level.depth, [Math.min(from, to), Math.max(from, to)]);
    }
    if (level !== undefined) commands?.panBy(level.depth, (drag.lastX - event.clientX) * nsPerPixel(level.scale));
    drag.lastX = event.clientX;
    pane.scrollTop = drag.scroll - (event.clientY - drag.y);
  }

  pane.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const hit = hitAt(event);
    const from = event.shiftKey ? hit?.at : undefined; // a range of time begins here
    drag = { x: event.clientX, y: event.clientY, lastX: event.clientX, scroll: pane.scrollTop, depth: hit?.depth, from, moved: false };
  });
  pane.addEventListener('pointermove', (event) => {
    if (drag !== undefined && (event.buttons & 1) === 1) dragged(event);
    else hovered(event);
  });
  pane.addEventListener('pointerup', (event) => {
    const clicked = drag !== undefined && !drag.moved;
    drag = undefined;
    pane.classList.remove('dragging');
    const hit = clicked ? hitAt(event) : undefined;
    if (hit?.seen !== undefined) commands?.select(hit.depth, hit.seen);
    if (hit?.lane !== undefined) pressLane(hit.lane, store, commands);
  });
  pane.addEventListener('pointercancel', () => {
    drag = undefined;
    pane.classList.remove('dragging');
  });
  pane.addEventListener('pointerleave', () => {
    hover = undefined;
    rest(undefined);
    tip.classList.remove('shown');
    redraw();
  });
  pane.addEventListener('dblclick', (event) => {
    const hit = hitAt(event);
    if (hit?.seen !== undefined) commands?.openBlock(hit.depth, hit.seen);
  });
  pane.addEventListener(
    'wheel',
    (event) => {
      const hit = hitAt(event);
      if (hit === undefined) return; // beside the tracks the wheel scrolls
      const unit = event.deltaMode === 0 ? 1 : WHEEL_LINE;
      const [dx, dy] = event.shiftKey ? [event.deltaY + event.deltaX, 0] : [event.deltaX, event.deltaY];
      const whole = store.get().view.zooms[hit.depth] === undefined;
      if (whole && dy > 0 && !event.ctrlKey) return; // nothing left to zoom out of: scrolls
      event.preventDefault();
      if (Math.abs(dx) > Math.abs(dy)) commands?.panBy(hit.depth, dx * unit * nsPerPixel(hit.level.scale));
      else commands?.zoomAt(hit.depth, hit.at, Math.exp(dy * unit * WHEEL_ZOOM));
      hovered(event);
    },
    { passive: false },
  );
  pane.addEventListener('scroll', redraw);
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
    const opened = state.view.path.length;
    const level = shown.levels[Math.max(opened, state.view.cursor?.depth ?? 0)];
    if (level === undefined) return;
    spacer.style.setProperty('height', `${Math.max(0, shown.height - size.height)}px`);
    const [top, bottom] = [level.titleTop - 8, level.bottom + 8];
    if (bottom > pane.scrollTop + size.height) pane.scrollTop = bottom - size.height;
    if (top < pane.scrollTop) pane.scrollTop = top;
  }

  function lead(): void {
    const path = size.height > 1 ? leadFurther(store.get(), trackWidth(width()), size.height) : undefined;
    if (path !== undefined) store.dispatch({ type: 'lead', path });
  }

  store.subscribe((state, before) => {
    if (state.levels !== before.levels || state.lanes !== before.lanes) lead();
    const moved = state.view.path !== before.view.path || state.view.cursor?.depth !== before.view.cursor?.depth;
    const grown = state.levels.length > before.levels.length;
    if ((moved || grown) && !state.leading) scrollToCursor(state);
    if (state.pointed !== before.pointed && pointer !== undefined) showTip(pointer);
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
