// How the state changes by what is compared with. Pure.
import { withRuns } from '../layout/runs';
import type { ProfileSummary, Span } from '../server/messages';
import type { View } from './address';
import { besidePath, besideSide, NOTHING_BESIDE, type Beside } from './beside';
import { forgetProfile, ownCursor, withoutRange } from './forget';
import { NO_FAILURES, samePath, type Action, type State } from './state';

// Made later, as far as both tell when they were made.
function isNewer(a: ProfileSummary | undefined, b: ProfileSummary | undefined): boolean {
  return a?.created !== undefined && b?.created !== undefined && String(a.created) > String(b.created);
}

// Of two profiles the older one is before: the newer is shown, at the same place.
export function olderBefore(state: State): State {
  const { before, profile, step: _step, cursor: _cursor, ...view } = state.view;
  const [other, shown] = [before, profile].map((id) => state.profiles?.profiles.find((each) => each.id === id));
  if (before === undefined || profile === undefined || !isNewer(other, shown)) return state;
  return {
    ...forgetProfile(state),
    view: { ...view, ...ownCursor(state.view), profile: before, before: profile, zooms: [] },
    note: 'Of two profiles the older one is before: the newer one is shown now.',
  };
}

export const withBeside = (state: State, told: Partial<Beside>): State => ({ ...state, beside: { ...state.beside, ...told } });

export function withBesideLevel(state: State, action: Action & { type: 'beside level' }): State {
  const { depth, whole } = action;
  const { profile, step, path } = action.loaded.level;
  const [side, wanted] = [besideSide(state), besidePath(state, depth)];
  if (side?.profile !== profile || side.step !== step || !wanted || !samePath(path, wanted)) return state;
  if (action.loaded.unfold !== state.view.unfold || depth > state.view.path.length) return state;
  const loaded = { ...action.loaded, level: withRuns(action.loaded.level) };
  const levels = state.beside.levels.slice();
  levels[depth] = { ...levels[depth], ...(whole ? { whole: loaded } : { part: loaded }) };
  return withBeside(state, { levels: Array.from(levels) });
}

export function withAlone(state: State, alone: boolean): State {
  const { alone: _alone, cursor: _cursor, ...view } = state.view;
  return {
    ...state,
    failures: NO_FAILURES,
    view: { ...view, ...ownCursor(state.view), zooms: withinShown(state), ...(alone ? { alone } : {}) },
  };
}

// A view that reached beyond the shown level, where the other one was longer, has no place without it.
const withinShown = ({ view, levels }: State): View['zooms'] =>
  view.zooms.map((zoom, depth) => {
    const extent = levels[depth]?.whole?.level.extent;
    if (zoom === undefined || extent === undefined || (zoom[0] >= extent[0] && zoom[1] <= extent[1])) return zoom;
    const part: Span = [Math.max(zoom[0], extent[0]), Math.min(zoom[1], extent[1])];
    return part[0] < part[1] ? part : undefined;
  });

export function withComparison(state: State, action: Action & { type: 'compare' }): State {
  const { before: _before, beforeStep: _step, cursor: _cursor, ...view } = state.view;
  const { before, step } = action;
  const against = before !== undefined ? { before } : step !== undefined && step !== view.step ? { beforeStep: step } : {};
  const next = { ...withoutRange(state), failures: NO_FAILURES, comparisons: {}, beside: NOTHING_BESIDE, expanded: [] };
  return olderBefore({ ...next, view: { ...view, ...ownCursor(state.view), ...against, zooms: withinShown(state) } });
}
