// What each command does: on the state, or by asking the server once (a line to show, a window to save).
import { isRecording } from './address';
import { createFollow } from './follow';
import { exact, time } from './format';
import type { Command } from './keys';
import { toggledThreads } from './lanes';
import type { Details, Match, Place, Span } from './messages';
import { viewOf } from './needs';
import { navigate, type Direction } from './navigate';
import { panned, scaleOf, zoomed } from './scale';
import { cursorOn, levelFor, nowUnder, shownLevels, underCursor, type Seen } from './shown';
import type { State } from './state';
import type { Store } from './store';
import type { Transport } from './transport';

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.2; // of the view

export interface Commands {
  readonly run: (command: Command) => void;
  readonly select: (depth: number, seen: Seen) => void;
  readonly openBlock: (depth: number, seen: Seen) => void; // the cursor stays on it
  readonly zoomAt: (depth: number, at: number, factor: number) => void;
  readonly panBy: (depth: number, ns: number) => void;
  readonly choose: (depth: number, span: Span) => void; // a range of time
  readonly reveal: (place: Pick<Place, 'file' | 'line'>) => void;
  readonly follow: (match: Match, position: number) => void;
}

export interface Environment {
  readonly width: () => number; // of a track, pixels
  readonly focusSearch: () => void;
  readonly savePicture: (kind: 'svg' | 'png') => void;
  readonly save: (name: string, file: Blob) => void;
}

// The line that stands for a block: where it is defined, else the first that is known.
export const placeOf = (details: Details | undefined): Place | undefined =>
  details?.places.find(({ what }) => what === 'definition') ?? details?.places[0];

export function createCommands(store: Store, transport: Transport, environment: Environment): Commands {
  const note = (text: string): void => store.dispatch({ type: 'note', note: text });
  const levelAt = (state: State, depth: number) => levelFor(state.levels[depth], state.view.zooms[depth], environment.width());
  const depthOf = (state: State): number => state.view.cursor?.depth ?? state.view.path.length;

  function underNow(): { depth: number; seen: Seen } | undefined {
    const state = store.get();
    const { cursor } = state.view;
    const level = cursor === undefined ? undefined : levelAt(state, cursor.depth);
    const seen = level === undefined || cursor === undefined ? undefined : underCursor(level, cursor);
    return seen === undefined ? undefined : { depth: cursor!.depth, seen };
  }

  // The view follows the cursor out of a zoomed part.
  function showCursor(depth: number, seen: Seen): void {
    const state = store.get();
    const zoom = state.view.zooms[depth];
    const level = levelAt(state, depth);
    if (zoom === undefined || level === undefined) return;
    const until = seen.start + seen.duration;
    if (until > zoom[0] && seen.start < zoom[1]) return;
    const middle = seen.start + seen.duration / 2;
    store.dispatch({ type: 'zoom', depth, span: panned(zoom, level.extent, middle - (zoom[0] + zoom[1]) / 2) });
  }

  function select(depth: number, seen: Seen): void {
    store.dispatch({ type: 'move', cursor: cursorOn(depth, seen) });
    showCursor(depth, seen);
  }

  function move(direction: Direction): void {
    const state = store.get();
    const levels = shownLevels(state, environment.width()).map(({ level }) => level);
    const cursor = navigate(levels, state.view.path, state.view.cursor, direction);
    if (cursor === undefined) return;
    store.dispatch({ type: 'move', cursor });
    const now = underNow();
    if (now !== undefined) showCursor(now.depth, now.seen);
  }

  function setZoom(depth: number, span: Span): void {
    const state = store.get();
    const extent = levelAt(state, depth)?.extent;
    if (extent === undefined) return;
    const whole = span[0] <= extent[0] && span[1] >= extent[1];
    store.dispatch({ type: 'zoom', depth, ...(whole ? {} : { span }) });
  }

  function zoomAt(depth: number, at: number, factor: number): void {
    const state = store.get();
    const level = levelAt(state, depth);
    if (level === undefined) return;
    const view = viewOf(level, state.view.zooms[depth]);
    const gap = state.levels[depth]?.gap;
    const isShort = scaleOf(view, 0, environment.width(), gap).gap !== undefined;
    setZoom(depth, zoomed(view, level.extent, at, factor, isShort ? gap : undefined));
  }

  function panBy(depth: number, ns: number): void {
    const state = store.get();
    const level = levelAt(state, depth);
    const zoom = state.view.zooms[depth];
    if (level !== undefined && zoom !== undefined) setZoom(depth, panned(zoom, level.extent, ns));
  }

  function zoomBy(factor: number): void {
    const state = store.get();
    const depth = depthOf(state);
    const level = levelAt(state, depth);
    if (level === undefined) return;
    const view = viewOf(level, state.view.zooms[depth]);
    const seen = underNow()?.seen;
    const middle = seen === undefined ? (view[0] + view[1]) / 2 : seen.start + seen.duration / 2;
    zoomAt(depth, Math.min(view[1], Math.max(view[0], middle)), factor);
  }

  function panShare(share: number): void {
    const state = store.get();
    const zoom = state.view.zooms[depthOf(state)];
    if (zoom !== undefined) panBy(depthOf(state), (zoom[1] - zoom[0]) * share);
  }

  function zoomToBlock(depth: number, seen: Seen): void {
    const margin = Math.max(10, seen.duration * 0.05);
    const extent = levelAt(store.get(), depth)?.extent ?? [0, 0];
    setZoom(depth, [Math.max(extent[0], seen.start - margin), Math.min(extent[1], seen.start + seen.duration + margin)]);
  }

  function choose(depth: number, [from, to]: Span): void {
    const extent = levelAt(store.get(), depth)?.extent;
    if (extent === undefined) return;
    const span: Span = [Math.max(extent[0], from), Math.min(extent[1], to)];
    if (span[1] - span[0] >= 1) store.dispatch({ type: 'range', depth, span });
  }

  function chooseSeen(): void {
    const state = store.get();
    const depth = state.range?.depth ?? depthOf(state);
    const level = levelAt(state, depth);
    if (level !== undefined) choose(depth, viewOf(level, state.view.zooms[depth]));
  }

  function zoomToChosen(): void {
    const { range } = store.get();
    const now = underNow();
    if (range !== undefined) setZoom(range.depth, range.span);
    else if (now !== undefined) zoomToBlock(now.depth, now.seen);
  }

  function openBlock(depth: number, seen: Seen, enter = false): void {
    const { view } = store.get();
    const { path } = view;
    if (isRecording(view) && seen.segment !== '') store.dispatch({ type: 'show step', step: Number(seen.segment) });
    else if (seen.open && seen.segment !== '') store.dispatch({ type: 'open', path: [...path.slice(0, depth), seen.segment], enter });
    else if (seen.kind === 'merged') zoomToBlock(depth, seen);
    else revealSelected();
  }

  function close(): void {
    const state = store.get();
    const { path } = state.view;
    if (state.help) store.dispatch({ type: 'help', open: false });
    else if (state.search.open) store.dispatch({ type: 'search', open: false });
    else if (state.range !== undefined) store.dispatch({ type: 'range', depth: state.range.depth });
    else if (path.length > 0) store.dispatch({ type: 'close', depth: path.length - 1 });
    else if (isRecording(state.view)) note('This is the whole recording: there is no level above it.');
    else store.dispatch({ type: 'show recording' });
  }

  function fit(): void {
    const state = store.get();
    const depth = depthOf(state);
    if (state.view.zooms[depth] !== undefined) return store.dispatch({ type: 'zoom', depth });
    state.view.zooms.forEach((zoom, each) => {
      if (zoom !== undefined) store.dispatch({ type: 'zoom', depth: each });
    });
  }

  function reveal({ file, line }: Pick<Place, 'file' | 'line'>): void {
    const { profile } = store.get().view;
    const name = file.split(/[\\/]/).at(-1) ?? file;
    transport
      .request('hotlens/timeline/reveal', { file, line, ...(profile === undefined ? {} : { profile }) })
      .then(({ shown }) =>
        note(
          shown
            ? `${name}:${line + 1} is shown in the editor.`
            : `The line is ${file}:${line + 1}. Open this profile from an editor to jump there.`,
        ),
      )
      .catch((error: Error) => note(error.message));
  }

  function revealSelected(): void {
    const place = placeOf(store.get().details);
    if (place === undefined) note('No line is known for this block.');
    else reveal(place);
  }

  const { follow, nextMatch } = createFollow(store, transport, { note, reveal });

  function nextStep(by: 1 | -1): void {
    const { view, overview } = store.get();
    const step = (view.step ?? 0) + by;
    if (overview !== undefined && step >= 0 && step < overview.steps.length) store.dispatch({ type: 'show step', step });
  }

  // Against the usual step; it stands against the slowest one.
  function compareSteps(): void {
    const { view, overview } = store.get();
    if (overview === undefined || overview.steps.length < 2) return note('This profile has one step: there is none to compare it with.');
    if (isRecording(view)) return note('Two steps are compared from one of them: open it first.');
    if (view.beforeStep !== undefined) return store.dispatch({ type: 'compare' });
    const walls = overview.steps.map(({ wall }) => wall);
    const usual = overview.representative;
    const slowest = walls.indexOf(Math.max(...walls.filter((_, step) => step !== usual)));
    store.dispatch({ type: 'compare', step: view.step === usual ? slowest : usual });
  }

  function exportWindow(): void {
    const state = store.get();
    const { profile, step } = state.view;
    const depth = depthOf(state);
    const level = levelAt(state, depth);
    if (level === undefined || profile === undefined || step === undefined) return;
    const [from, to] = viewOf(level, state.view.zooms[depth]).map(Math.round) as [number, number];
    transport
      .request('hotlens/timeline/export', { profile, ...(isRecording(state.view) ? { recording: true as const } : { step }), from, to })
      .then(({ name, text }) => {
        environment.save(name, new Blob([text], { type: 'application/json' }));
        note(`${name} holds ${time(to - from)} (${exact(to - from)}); open it at ui.perfetto.dev.`);
      })
      .catch((error: Error) => note(error.message));
  }

  // A level that was entered gets the cursor when it arrives. Idle time and merged blocks have no path to be found by again: when finer data
  // arrives, what stands there now is under the cursor.
  store.subscribe((state, before) => {
    const { cursor, path } = state.view;
    if (state.levels === before.levels) return;
    if (cursor === undefined && !state.leading && path.length > 0 && state.levels[path.length] !== undefined) return move('down');
    if (cursor === undefined || cursor.segment !== '') return;
    const level = levelAt(state, cursor.depth);
    if (level === undefined || underCursor(level, cursor) !== undefined) return;
    const seen = nowUnder(level, cursor);
    if (seen !== undefined) store.dispatch({ type: 'move', cursor: cursorOn(cursor.depth, seen) });
  });

  const actions: Record<Command, () => void> = {
    left: () => move('left'),
    right: () => move('right'),
    up: () => move('up'),
    down: () => move('down'),
    home: () => move('home'),
    end: () => move('end'),
    open: () => {
      const now = underNow();
      if (now === undefined) move('home');
      else openBlock(now.depth, now.seen, true);
    },
    close,
    code: revealSelected,
    'zoom in': () => zoomBy(ZOOM_STEP),
    'zoom out': () => zoomBy(1 / ZOOM_STEP),
    'pan left': () => panShare(-PAN_STEP),
    'pan right': () => panShare(PAN_STEP),
    'zoom to block': zoomToChosen,
    sum: chooseSeen,
    fit,
    search: environment.focusSearch,
    recording: () => store.dispatch({ type: 'show recording' }),
    'next match': () => nextMatch(1),
    'previous match': () => nextMatch(-1),
    'next step': () => nextStep(1),
    'previous step': () => nextStep(-1),
    'compare steps': compareSteps,
    unfold: () => store.dispatch({ type: 'unfold' }),
    threads: () => {
      const { lanes, view } = store.get();
      if (lanes === undefined) return note('The threads of the host are shown below a step.');
      store.dispatch({ type: 'show lanes', toggled: toggledThreads(view.lanes ?? [], lanes.lanes) });
    },
    'export picture': () => environment.savePicture('svg'),
    'export pixels': () => environment.savePicture('png'),
    'export window': exportWindow,
    help: () => store.dispatch({ type: 'help', open: !store.get().help }),
  };
  return { run: (command) => actions[command](), select, openBlock, zoomAt, panBy, choose, reveal, follow };
}
