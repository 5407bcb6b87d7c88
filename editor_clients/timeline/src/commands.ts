// What each command does: on the state, or by asking the server once (a line to show, a window to save).
import { isRecording } from './address';
import { isBeside } from './beside';
import { createComparing } from './comparing';
import { createCursor } from './cursor';
import { createFollow } from './follow';
import { exact, time } from './format';
import type { Command } from './keys';
import { toggledThreads } from './lanes';
import type { Details, Match, Place, Span } from './messages';
import { MOST_PINS, pinOf } from './pins';
import { isMadeWide, type Seen } from './shown';
import { selectedPath } from './state';
import type { Store } from './store';
import type { Transport } from './transport';
import { createZooms, depthOf, viewAt } from './zooms';

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.2; // of the view

export interface Commands {
  readonly run: (command: Command) => void;
  readonly select: (depth: number, seen: Seen) => void;
  readonly openBlock: (depth: number, seen: Seen) => void; // the cursor stays on it
  readonly zoomAt: (depth: number, at: number, factor: number) => void;
  readonly panBy: (depth: number, ns: number) => void;
  readonly choose: (depth: number, span: Span) => void; // a range of time
  readonly reveal: (place: Line) => void;
  readonly follow: (match: Match, position: number) => void;
}

export interface Environment {
  readonly width: () => number; // of a track, pixels
  readonly focusSearch: () => void;
  readonly editNote: () => void; // of the selected block's pin
  readonly savePicture: (kind: 'svg' | 'png') => void;
  readonly save: (name: string, file: Blob) => void;
}

// A line, of the profile that is shown if none is named.
export type Line = Pick<Place, 'file' | 'line'> & { readonly profile?: string | undefined };

// The line that stands for a block: where it is defined, else the first that is known.
export const placeOf = (details: Details | undefined): Place | undefined =>
  details?.places.find(({ what }) => what === 'definition') ?? details?.places[0];

export function createCommands(store: Store, transport: Transport, environment: Environment): Commands {
  const note = (text: string): void => store.dispatch({ type: 'note', note: text });
  const { underNow, select, move } = createCursor(store, environment.width);
  const { zoomAt, panBy, zoomBy, panShare, zoomToBlock, zoomToChosen, choose, chooseSeen, fit } = createZooms(
    store,
    environment.width,
    underNow,
  );

  function openBlock(depth: number, seen: Seen, enter = false): void {
    const { view } = store.get();
    const { path } = view;
    if (seen.before !== undefined && seen.open && seen.segment !== '') return openCounterpart([...seen.before, seen.segment]);
    if (seen.way !== undefined && seen.before === undefined) return store.dispatch({ type: 'go', path: seen.way });
    if (isRecording(view) && seen.segment !== '') store.dispatch({ type: 'show step', step: Number(seen.segment) });
    else if (seen.open && seen.segment !== '') store.dispatch({ type: 'open', path: [...path.slice(0, depth), seen.segment], enter });
    else if (isMadeWide(seen.kind)) zoomToBlock(depth, seen);
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

  function reveal({ file, line, profile = store.get().view.profile }: Line): void {
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
    else reveal({ ...place, profile: store.get().details?.profile });
  }

  const { compareSteps, both, openCounterpart } = createComparing(store, transport, note);
  const { follow, nextMatch } = createFollow(store, transport, { note, reveal });

  function nextStep(by: 1 | -1): void {
    const { view, overview } = store.get();
    const step = (view.step ?? 0) + by;
    if (overview !== undefined && step >= 0 && step < overview.steps.length) store.dispatch({ type: 'show step', step });
  }

  function pin(): void {
    const { view } = store.get();
    const path = selectedPath(view);
    if (isRecording(view) || view.step === undefined) return note('Pins are on blocks of a step: open one first.');
    if (view.cursor?.before !== undefined) return note('Pins are on blocks of the lower timeline: select it there.');
    if (path === undefined) return note('Select a block first: a pin is on a block.');
    const { pins = [] } = view;
    const known = pinOf(pins, { step: view.step, path }) !== undefined;
    if (!known && pins.length >= MOST_PINS) return note(`An address holds ${MOST_PINS} pins at most: remove one first.`);
    if (!known) store.dispatch({ type: 'pin', pin: { step: view.step, path, note: '' } });
    environment.editNote();
  }

  function exportWindow(): void {
    const state = store.get();
    const { profile, step } = state.view;
    const depth = depthOf(state);
    const view = viewAt(state, depth);
    if (view === undefined || profile === undefined || step === undefined) return;
    const [from, to] = view.map(Math.round) as [number, number];
    transport
      .request('hotlens/timeline/export', { profile, ...(isRecording(state.view) ? { recording: true as const } : { step }), from, to })
      .then(({ name, text }) => {
        environment.save(name, new Blob([text], { type: 'application/json' }));
        note(`${name} holds ${time(to - from)} (${exact(to - from)}); open it at ui.perfetto.dev.`);
      })
      .catch((error: Error) => note(error.message));
  }

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
    both,
    pin,
    unfold: () => store.dispatch({ type: 'unfold' }),
    threads: () => {
      const { lanes, view } = store.get();
      if (isBeside(view)) return note('The threads of the host are shown below one timeline: press b.');
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
