// How the state changes when another place is shown: a step, the recording, a level, a block. Pure.
import type { Path } from '../server/messages';
import { isRecording, RECORDING, START, type Cursor, type View } from './address';
import { forgetProfile, forgetStep, ownCursor, withoutRange } from './forget';
import { isPrefix, NO_FAILURES, stepOf, type Action, type State } from './state';

// Another step beside the one that it is compared with; not beside itself.
export function showStep(state: State, step: number): State {
  const { beforeStep, cursor: _cursor, ...view } = state.view;
  const cursor = isRecording(state.view) ? {} : ownCursor(state.view); // that of the recording stands on steps
  const kept = beforeStep === undefined || beforeStep === step ? {} : { beforeStep };
  const comparisons = beforeStep === undefined ? state.comparisons : {};
  return { ...forgetStep(state), comparisons, view: { ...view, ...cursor, ...kept, step, zooms: [] } };
}

// From a step: that step is under the cursor.
export function showRecording(state: State): State {
  const { step, path: _path, cursor: _cursor, beforeStep: _beforeStep, ...view } = state.view;
  if (step === RECORDING) return state;
  const cursor = step === undefined ? {} : { cursor: { depth: 0, segment: String(step) } };
  return { ...forgetStep(state), comparisons: {}, view: { ...view, ...cursor, step: RECORDING, path: [], zooms: [] } };
}

export function withPath(state: State, path: Path, cursor: Cursor | undefined): State {
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

export const cursorAt = (path: Path): Cursor | undefined =>
  path.length === 0 ? undefined : { depth: path.length - 1, segment: path[path.length - 1]! };

// A block chosen elsewhere: its level is opened, at its whole extent, and the block is under the cursor.
function goTo(state: State, path: Path): State {
  const parent = path.slice(0, -1);
  const keep = isPrefix(parent, state.view.path) ? state.view.path : parent;
  const next = withPath(state, keep, cursorAt(path));
  return { ...next, view: { ...next.view, zooms: next.view.zooms.map((zoom, depth) => (depth === parent.length ? undefined : zoom)) } };
}

// The view of another profile, and what stays of the one before.
export const startOf = ({ unfold, lanes, pins }: View, profile: string | undefined): View => ({
  ...START,
  unfold,
  ...(profile === undefined ? {} : { profile }),
  ...(lanes === undefined ? {} : { lanes }),
  ...(pins === undefined ? {} : { pins }),
});

export function goAnywhere(state: State, action: Action & { type: 'go' }): State {
  const profile = action.profile ?? state.view.profile;
  const step = action.step ?? stepOf(state);
  if (profile === state.view.profile && step === state.view.step) return goTo(state, action.path);
  if (profile === state.view.profile && step !== undefined)
    return goTo(showStep({ ...state, view: { ...state.view, path: [] } }, step), action.path);
  const view: View = { ...startOf(state.view, profile), ...(step === undefined ? {} : { step }) };
  return goTo({ ...forgetProfile(state), view }, action.path);
}
