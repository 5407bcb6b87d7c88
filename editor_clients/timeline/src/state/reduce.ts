// The one function that changes the page's state. Pure.
import { batchAfter } from './batch';
import { forgetProfile, withoutFailure, withoutRange } from './forget';
import { withoutPin, withPin, type Pin } from './pins';
import { withFailure, withLevel, withOverview, withProfiles } from './reduce_answers';
import { olderBefore, withAlone, withBeside, withBesideLevel, withComparison } from './reduce_beside';
import { cursorAt, goAnywhere, showRecording, showStep, startOf, withPath } from './reduce_places';
import { NO_FAILURES, samePath, type Action, type State } from './state';
import { whatIfsAfter } from './what_if';

function withPins(state: State, pins: readonly Pin[]): State {
  const { pins: _pins, ...view } = state.view;
  return { ...state, view: pins.length === 0 ? view : { ...view, pins } };
}

// What a person does; answers, and what the page does by itself, leave it free to go on.
const CHOICES: ReadonlySet<Action['type']> = new Set<Action['type']>([
  'range',
  'show step',
  'show recording',
  'open',
  'close',
  'move',
  'go',
  'zoom',
  'unfold',
  'match',
  'compare',
  'alone',
  'pin',
]);

export function reduce(state: State, action: Action): State {
  const next = changed(state, action);
  if (action.type === 'show profile') return { ...next, leading: true };
  return next.leading && CHOICES.has(action.type) ? { ...next, leading: false } : next;
}

function changed(state: State, action: Action): State {
  switch (action.type) {
    case 'connection':
      return { ...state, connection: action.connection };
    case 'profiles':
      return olderBefore(withProfiles(state, action.profiles));
    case 'changed': {
      const { profiles, ...rest } = state;
      return profiles === undefined ? rest : { ...rest, known: profiles };
    }
    case 'overview':
      return withOverview(state, action.overview);
    case 'level':
      return withLevel(state, action);
    case 'idle':
      return { ...state, idle: { ...action.idle, track: action.track, at: action.at, before: action.before } };
    case 'details':
      return { ...state, details: action.details };
    case 'arrows':
      return {
        ...state,
        arrows: { ...action.arrows, path: action.path, ...(action.window === undefined ? {} : { window: action.window }) },
      };
    case 'range': {
      const { depth, span } = action;
      return span === undefined ? withoutRange(state) : { ...state, failures: NO_FAILURES, range: { depth, span } };
    }
    case 'lanes':
      return { ...state, lanes: action.loaded };
    case 'show lanes':
      return { ...state, view: { ...state.view, lanes: action.toggled } };
    case 'sums':
      return state.range === undefined
        ? state
        : { ...state, range: { ...state.range, [action.before === true ? 'before' : 'sums']: action.sums } };
    case 'point': {
      const { pointed, ...rest } = state;
      const known =
        pointed?.path !== undefined &&
        action.on?.path !== undefined &&
        samePath(pointed.path, action.on.path) &&
        pointed.before === action.on.before;
      if (known) return state;
      if (action.on === undefined) return pointed === undefined ? state : rest;
      return withoutFailure({ ...rest, pointed: action.on }, 'pointed');
    }
    case 'pointed':
      return state.pointed === undefined ? state : { ...state, pointed: { ...state.pointed, details: action.details } };
    case 'matches':
      return { ...state, search: { ...state.search, answer: { ...action.matches, query: action.query, step: action.step }, at: -1 } };
    case 'breakdown':
      return { ...state, breakdowns: { ...state.breakdowns, [action.key]: action.breakdown } };
    case 'comparison':
      return { ...state, comparisons: { ...state.comparisons, [action.key]: action.comparison } };
    case 'beside overview':
      return action.overview.profile.id === state.view.before ? withBeside(state, { overview: action.overview }) : state;
    case 'beside level':
      return withBesideLevel(state, action);
    case 'beside details':
      return withBeside(state, { details: action.details });
    case 'counterpart':
      return withBeside(state, { counterparts: { ...state.beside.counterparts, [action.key]: action.counterpart } });
    case 'pin':
      return withPins(state, withPin(state.view.pins ?? [], action.pin));
    case 'unpin':
      return withPins(state, withoutPin(state.view.pins ?? [], action));
    case 'pinned':
      return { ...state, pinned: { ...state.pinned, [action.key]: action.block } };
    case 'alone':
      return withAlone(state, action.alone);
    case 'failed':
      return withFailure(state, action);
    case 'note':
      return { ...state, note: action.note };
    case 'show profile':
      return { ...forgetProfile(state), view: startOf(state.view, action.profile) };
    case 'show step':
      return showStep(state, action.step);
    case 'show recording':
      return showRecording(state);
    case 'lead':
      return withPath(state, action.path, undefined);
    case 'open':
      return withPath(state, action.path, action.enter === true ? undefined : cursorAt(action.path));
    case 'close':
      return withPath(state, state.view.path.slice(0, action.depth), cursorAt(state.view.path.slice(0, action.depth + 1)));
    case 'move':
      return { ...withoutRange(state), failures: NO_FAILURES, view: { ...state.view, cursor: action.cursor } };
    case 'go':
      return goAnywhere(state, action);
    case 'zoom': {
      const zooms = state.view.zooms.slice();
      zooms[action.depth] = action.span;
      return { ...state, view: { ...state.view, zooms: Array.from(zooms) } };
    }
    case 'unfold':
      return {
        ...withoutRange(state),
        levels: [],
        beside: { ...state.beside, levels: [] },
        view: { ...state.view, unfold: !state.view.unfold },
      };
    case 'search':
      return { ...state, failures: NO_FAILURES, search: { ...state.search, open: action.open, query: action.query ?? state.search.query } };
    case 'match':
      return { ...state, search: { ...state.search, at: action.at } };
    case 'drill':
      return { ...state, drill: action.drill };
    case 'compare':
      return withComparison(state, action);
    case 'expand': {
      const open = state.expanded.includes(action.module);
      return { ...state, expanded: open ? state.expanded.filter((each) => each !== action.module) : [...state.expanded, action.module] };
    }
    case 'help':
      return { ...state, help: action.open };
    case 'batch sizes':
      return action.sizes.profile === state.view.profile ? { ...state, batch: batchAfter(state.batch, action) } : state;
    case 'batch sizes changed':
      return { ...withoutFailure(state, 'batch sizes'), batch: batchAfter(state.batch, action) };
    case 'choose batch size':
    case 'batch size said':
      return { ...state, batch: batchAfter(state.batch, action) };
    case 'what-ifs':
      return action.whatIfs.profile === state.view.profile ? { ...state, whatIfs: whatIfsAfter(state.whatIfs, action) } : state;
    case 'what-ifs changed':
      return { ...withoutFailure(state, 'what-ifs'), whatIfs: whatIfsAfter(state.whatIfs, action) };
    case 'choose budget':
    case 'plan said':
      return { ...state, whatIfs: whatIfsAfter(state.whatIfs, action) };
  }
}
