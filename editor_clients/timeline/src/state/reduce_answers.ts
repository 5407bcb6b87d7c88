// How the state changes by what the server tells of profiles, steps and levels, or that it cannot. Pure.
import { withRuns } from '../layout/runs';
import { gapOf } from '../layout/scale';
import type { Overview, Profiles } from '../server/messages';
import type { View } from './address';
import { forgetProfile, ownCursor, withoutFailure } from './forget';
import { withPath } from './reduce_places';
import { NO_FAILURES, samePath, type Action, type State } from './state';

// Another run under the same name.
function isReplaced(before: Profiles | undefined, now: Profiles, id: string | undefined): boolean {
  const [old, fresh] = [before, now].map((each) => each?.profiles.find((profile) => profile.id === id));
  if (old === undefined || fresh === undefined) return false;
  const rewritten = fresh.written !== undefined && old.written !== fresh.written; // what is gone stays as it was read
  return rewritten || old.created !== fresh.created || old.stepNs !== fresh.stepNs;
}

// The profile that was asked for if it is still there, else the current one, else the newest.
export function withProfiles(state: State, profiles: Profiles): State {
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

export function withOverview(state: State, overview: Overview): State {
  const { profile, step } = state.view;
  const { id } = overview.profile;
  if (!fits(profile, id)) return state;
  const known = step !== undefined && step < overview.steps.length;
  return { ...state, overview, view: { ...state.view, profile: id, step: known ? step : overview.representative } };
}

// An answer that nobody waits for any more (another step, a level that was closed) changes nothing.
export function withLevel(state: State, action: Action & { type: 'level' }): State {
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
export function withFailure(state: State, action: Action & { type: 'failed' }): State {
  const { slot, message, gone, depth } = action;
  if (gone && depth !== undefined && depth > 0 && state.overview !== undefined) {
    const parent = withPath(state, state.view.path.slice(0, depth - 1), undefined);
    return { ...parent, note: 'A block of this address does not exist in this step. The level above it is shown.' };
  }
  return { ...state, failures: { ...state.failures, [slot]: message } };
}
