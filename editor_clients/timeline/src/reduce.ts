// The one function that changes the page's state. Pure.
import { isRecording, RECORDING, START, type Cursor, type View } from './address';
import { batchAfter } from './batch_state';
import { forgetProfile, forgetStep, ownCursor, withoutFailure, withoutRange } from './forget';
import type { Overview, Path, Profiles } from './messages';
import { withoutPin, withPin, type Pin } from './pins';
import { olderBefore, withAlone, withBeside, withBesideLevel, withComparison } from './reduce_beside';
import { withRuns } from './runs';
import { gapOf } from './scale';
import { isPrefix, NO_FAILURES, samePath, stepOf, type Action, type State } from './state';
import { whatIfsAfter } from './what_if_state';

// Another step beside the one that it is compared with; not beside itself.
function showStep(state: State, step: number): State {
  const { beforeStep, cursor: _cursor, ...view } = state.view;
  const cursor = isRecording(state.view) ? {} : ownCursor(state.view); // that of the recording stands on steps
  const kept = beforeStep === undefined || beforeStep === step ? {} : { beforeStep };
  const comparisons = beforeStep === undefined ? state.comparisons : {};
  return { ...forgetStep(state), comparisons, view: { ...view, ...cursor, ...kept, step, zooms: [] } };
}

// From a step: that step is under the cursor.
function showRecording(state: State): State {
  const { step, path: _path, cursor: _cursor, beforeStep: _beforeStep, ...view } = state.view;
  if (step === RECORDING) return state;
  const cursor = step === undefined ? {} : { cursor: { depth: 0, segment: String(step) } };
  return { ...forgetStep(state), comparisons: {}, view: { ...view, ...cursor, step: RECORDING, path: [], zooms: [] } };
}

function withPath(state: State, path: Path, cursor: Cursor | undefined): State {
  const kept = state.view.path.findIndex((segment, depth) => segment !== path[depth]);
  const levels = kept < 0 ? Math.min(state.view.path.length, path.length) + 1 : kept + 1;
  const { cursor: _cursor, ...view } = state.view;
  return {
    ...withoutRange(state),
    view: { ...view, path, zooms: view.zooms.slice(0, levels), ...(cursor === undefined ? {} : { cursor }) },
    levels: state.levels.slice(0, levels),
    beside: { ...state.beside, levels: state.beside.levels.slice(0, levels) },
    failures: NO_FAILURES,
  };
}

const cursorAt = (path: Path): Cursor | undefined =>
  path.length === 0 ? undefined : { depth: path.length - 1, segment: path[path.length - 1]! };

// A block chosen elsewhere: its level is opened, at its whole extent, and the block is under the cursor.
function goTo(state: State, path: Path): State {
  const parent = path.slice(0, -1);
  const keep = isPrefix(parent, state.view.path) ? state.view.path : parent;
  const next = withPath(state, keep, cursorAt(path));
  return { ...next, view: { ...next.view, zooms: next.view.zooms.map((zoom, depth) => (depth === parent.length ? undefined : zoom)) } };
}

function goAnywhere(state: State, action: Action & { type: 'go' }): State {
  const profile = action.profile ?? state.view.profile;
  const step = action.step ?? stepOf(state);
  if (profile === state.view.profile && step === state.view.step) return goTo(state, action.path);
  if (profile === state.view.profile && step !== undefined)
    return goTo(showStep({ ...state, view: { ...state.view, path: [] } }, step), action.path);
  const kept = forgetProfile(state);
  const view: View = {
    ...START,
    ...carried(state.view),
    ...(profile === undefined ? {} : { profile }),
    ...(step === undefined ? {} : { step }),
  };
  return goTo({ ...kept, view }, action.path);
}

// Another run under the same name.
function isReplaced(before: Profiles | undefined, now: Profiles, id: string | undefined): boolean {
  const [old, fresh] = [before, now].map((each) => each?.profiles.find((profile) => profile.id === id));
  if (old === undefined || fresh === undefined) return false;
  const rewritten = fresh.written !== undefined && old.written !== fresh.written; // what is gone stays as it was read
  return rewritten || old.created !== fresh.created || old.stepNs !== fresh.stepNs;
}

// The profile that was asked for if it is still there, else the current one, else the newest.
function withProfiles(state: State, profiles: Profiles): State {
  const exists = (id: string | undefined): id is string => profiles.profiles.some((each) => each.id === id);
  const [newest] = profiles.profiles;
  const asked = state.view.profile;
  const { known, ...rest } = state;
  // Who looks at what is current goes on to the next current one, at the same place.
  const follows = known?.current !== undefined && asked === known.current && profiles.current !== known.current;
  const profile = [follows ? undefined : asked, profiles.current, newest?.id].find(exists);
  const next = withoutFailure({ ...rest, profiles }, 'profiles');
  if (profile === asked)
    return isReplaced(known, profiles, asked) ? { ...forgetProfile(next), note: 'The profile was replaced. This is the new one.' } : next;
  const { step, profile: _profile, before, cursor, ...view } = state.view;
  const shown: View = {
    ...view,
    ...(exists(before) && cursor !== undefined ? { cursor } : ownCursor(state.view)),
    ...(profile === undefined ? {} : { profile }),
  };
  const kept = { ...(step === undefined ? {} : { step }), ...(exists(before) ? { before } : {}) };
  if (asked === undefined) return { ...next, failures: NO_FAILURES, view: { ...shown, ...kept } };
  const note = follows ? 'A newer profile is here. It is shown now.' : 'The profile that was shown is gone. This is the current one.';
  return { ...forgetProfile(next), view: { ...shown, zooms: [] }, note };
}

// The first answers tell which profile and step they are about; later ones about another one come too late.
const fits = (known: string | number | undefined, told: string | number): boolean => known === undefined || known === told;

function withOverview(state: State, overview: Overview): State {
  const { profile, step } = state.view;
  const { id } = overview.profile;
  if (!fits(profile, id)) return state;
  const known = step !== undefined && step < overview.steps.length;
  return { ...state, overview, view: { ...state.view, profile: id, step: known ? step : overview.representative } };
}

// An answer that nobody waits for any more (another step, a level that was closed) changes nothing.
function withLevel(state: State, action: Action & { type: 'level' }): State {
  const { depth, whole } = action;
  const { profile, step, path } = action.loaded.level;
  const { view } = state;
  const wanted = fits(view.step, step) && fits(view.profile, profile) && action.loaded.unfold === view.unfold;
  if (!wanted || !samePath(path, view.path.slice(0, depth)) || depth > view.path.length) return state;
  const loaded = { ...action.loaded, level: withRuns(action.loaded.level) };
  const levels = state.levels.slice();
  levels[depth] = { ...levels[depth], ...(whole ? { whole: loaded, gap: gapOf(loaded.level) } : { part: loaded }) };
  const shown = view.profile === profile && view.step === step ? view : { ...view, profile, step };
  return { ...state, view: shown, levels: Array.from(levels) };
}

// A path from an old address may lead nowhere: the deepest level that exists is shown. Without an overview it is the profile that is gone.
function withFailure(state: State, action: Action & { type: 'failed' }): State {
  const { slot, message, gone, depth } = action;
  if (gone && depth !== undefined && depth > 0 && state.overview !== undefined) {
    const parent = withPath(state, state.view.path.slice(0, depth - 1), undefined);
    return { ...parent, note: 'A block of this address does not exist in this step. The level above it is shown.' };
  }
  return { ...state, failures: { ...state.failures, [slot]: message } };
}

function withPins(state: State, pins: readonly Pin[]): State {
  const { pins: _pins, ...view } = state.view;
  return { ...state, view: pins.length === 0 ? view : { ...view, pins } };
}

// What stays of a view when another profile is shown.
const carried = ({ unfold, lanes, pins }: View): Pick<View, 'unfold' | 'lanes' | 'pins'> => ({
  unfold,
  ...(lanes === undefined ? {} : { lanes }),
  ...(pins === undefined ? {} : { pins }),
});

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
      return {
        ...forgetProfile(state),
        view: {
          ...START,
          profile: action.profile,
          ...carried(state.view),
        },
      };
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
