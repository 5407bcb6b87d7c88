// What the commands of a comparison do: two steps against each other, one timeline or both, a level of both.
import type { Path } from '../server/messages';
import { isRecording } from '../state/address';
import { counterpartOf, isComparing, sideOf, type Sides } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { note, type Action } from '../state/state';
import { sayWhy, type Ways } from './ways';

// Against the usual step; it stands against the slowest one.
export function compareSteps({ view, overview }: InState<'overview'> & InView<'step' | 'beforeStep'>): Action {
  if (overview === undefined || overview.steps.length < 2) return note('This profile has one step: there is none to compare it with.');
  if (isRecording(view)) return note('Two steps are compared from one of them: open it first.');
  if (view.beforeStep !== undefined) return { type: 'compare' };
  const { steps, representative: usual } = overview;
  const others = [...steps.keys()].filter((step) => step !== usual);
  const slowest = others.reduce((best, step) => (steps[step]!.wall > steps[best]!.wall ? step : best));
  return { type: 'compare', step: view.step === usual ? slowest : usual };
}

export const both = ({ view }: InView<'before' | 'beforeStep' | 'alone'>): Action =>
  isComparing(view)
    ? { type: 'alone', alone: view.alone !== true }
    : note('Nothing is compared: choose a profile to compare with, or press c for two steps.');

// A block of the upper timeline: its level is opened in both, where both have it.
export function openCounterpart(path: Path, ways: Ways<Sides>): void {
  const state = ways.read();
  const [of, other] = [sideOf(state, true), sideOf(state, false)];
  const open = (there: Path | undefined): void =>
    ways.dispatch(
      there === undefined
        ? note('The lower timeline has no such block: there is no level of both to open.')
        : { type: 'open', path: there },
    );
  const known = counterpartOf(state, path, true);
  if (known !== undefined) return open(known.path);
  if (of === undefined || other === undefined) return;
  const params = { profile: of.profile, step: of.step, path, other: other.profile, otherStep: other.step, side: 'before' as const };
  ways
    .request('hotlens/timeline/counterpart', params)
    .then((counterpart) => open(counterpart.path))
    .catch(sayWhy(ways));
}
