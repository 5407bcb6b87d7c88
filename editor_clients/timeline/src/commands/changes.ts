// What commands do that change the state alone. Pure.
import { toggledThreads } from '../layout/lanes';
import { isRecording } from '../state/address';
import { isBeside } from '../state/beside';
import type { InState, InView, SomeView } from '../state/in_state';
import { MOST_PINS, pinOf } from '../state/pins';
import { note, selectedPath, type Action, type State } from '../state/state';
import { move } from '../view/cursor';
import { chooseSeen, fit, panShare, zoomBy, zoomToChosen } from '../view/zooms';
import { both, compareSteps } from './comparing';
import type { Command } from './keys';

const ZOOM_STEP = 0.6;
const PAN_STEP = 0.2; // of the view

function close({ help, search, range, view }: InState<'help' | 'search' | 'range'> & InView<'step' | 'path'>): Action {
  if (help) return { type: 'help', open: false };
  if (search.open) return { type: 'search', open: false };
  if (range !== undefined) return { type: 'range', depth: range.depth };
  if (view.path.length > 0) return { type: 'close', depth: view.path.length - 1 };
  return isRecording(view) ? note('This is the whole recording: there is no level above it.') : { type: 'show recording' };
}

function nextStep({ view, overview }: InState<'overview'> & InView<'step'>, by: 1 | -1): Action[] {
  const step = (view.step ?? 0) + by;
  return overview !== undefined && step >= 0 && step < overview.steps.length ? [{ type: 'show step', step }] : [];
}

function threads({ lanes, view }: InState<'lanes'> & InView<'step' | 'before' | 'beforeStep' | 'alone' | 'lanes'>): Action {
  if (isBeside(view)) return note('The threads of the host are shown below one timeline: press b.');
  if (lanes === undefined) return note('The threads of the host are shown below a step.');
  return { type: 'show lanes', toggled: toggledThreads(view.lanes ?? [], lanes.lanes) };
}

// A pin on the selected block, or why there is none; nothing where it has one.
export function pinSelected(view: SomeView<'step' | 'path' | 'cursor' | 'pins'>): Action | undefined {
  const path = selectedPath(view);
  const { step, pins = [] } = view;
  if (isRecording(view) || step === undefined) return note('Pins are on blocks of a step: open one first.');
  if (view.cursor?.before !== undefined) return note('Pins are on blocks of the lower timeline: select it there.');
  if (path === undefined) return note('Select a block first: a pin is on a block.');
  if (pinOf(pins, { step, path }) !== undefined) return undefined;
  if (pins.length >= MOST_PINS) return note(`An address holds ${MOST_PINS} pins at most: remove one first.`);
  return { type: 'pin', pin: { step, path, note: '' } };
}

// Those of the other commands need the server, a file or the focus (commands.ts).
export type Asking =
  | 'open'
  | 'code'
  | 'pin'
  | 'search'
  | 'next match'
  | 'previous match'
  | 'export picture'
  | 'export pixels'
  | 'export window';

// `width`: of a track, pixels.
export const CHANGES: Readonly<Record<Exclude<Command, Asking>, (state: State, width: number) => readonly Action[]>> = {
  left: (state, width) => move(state, width, 'left'),
  right: (state, width) => move(state, width, 'right'),
  up: (state, width) => move(state, width, 'up'),
  down: (state, width) => move(state, width, 'down'),
  home: (state, width) => move(state, width, 'home'),
  end: (state, width) => move(state, width, 'end'),
  close: (state) => [close(state)],
  'zoom in': (state, width) => zoomBy(state, width, ZOOM_STEP),
  'zoom out': (state, width) => zoomBy(state, width, 1 / ZOOM_STEP),
  'pan left': (state) => panShare(state, -PAN_STEP),
  'pan right': (state) => panShare(state, PAN_STEP),
  'zoom to block': zoomToChosen,
  sum: chooseSeen,
  fit,
  recording: () => [{ type: 'show recording' }],
  'next step': (state) => nextStep(state, 1),
  'previous step': (state) => nextStep(state, -1),
  'compare steps': (state) => [compareSteps(state)],
  both: (state) => [both(state)],
  unfold: () => [{ type: 'unfold' }],
  threads: (state) => [threads(state)],
  help: ({ help }) => [{ type: 'help', open: !help }],
};
