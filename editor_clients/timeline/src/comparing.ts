// What the commands of a comparison do: two steps against each other, one timeline or both, a level of both.
import { isRecording } from './address';
import { counterpartOf, isComparing, sideOf } from './beside';
import type { Path } from './messages';
import type { Store } from './store';
import type { Transport } from './transport';

export interface Comparing {
  readonly compareSteps: () => void;
  readonly both: () => void;
  readonly openCounterpart: (path: Path) => void; // of a block of the upper timeline
}

export function createComparing(store: Store, transport: Transport, note: (text: string) => void): Comparing {
  // Against the usual step; it stands against the slowest one.
  function compareSteps(): void {
    const { view, overview } = store.get();
    if (overview === undefined || overview.steps.length < 2) return note('This profile has one step: there is none to compare it with.');
    if (isRecording(view)) return note('Two steps are compared from one of them: open it first.');
    if (view.beforeStep !== undefined) return store.dispatch({ type: 'compare' });
    const { steps, representative: usual } = overview;
    const others = [...steps.keys()].filter((step) => step !== usual);
    const slowest = others.reduce((best, step) => (steps[step]!.wall > steps[best]!.wall ? step : best));
    store.dispatch({ type: 'compare', step: view.step === usual ? slowest : usual });
  }

  function both(): void {
    const { view } = store.get();
    if (!isComparing(view)) note('Nothing is compared: choose a profile to compare with, or press c for two steps.');
    else store.dispatch({ type: 'alone', alone: view.alone !== true });
  }

  // A level is opened in both timelines, where both have its block.
  function openCounterpart(path: Path): void {
    const state = store.get();
    const [of, other] = [sideOf(state, true), sideOf(state, false)];
    const open = (there: Path | undefined): void => {
      if (there === undefined) note('The lower timeline has no such block: there is no level of both to open.');
      else store.dispatch({ type: 'open', path: there });
    };
    const known = counterpartOf(state, path, true);
    if (known !== undefined) return open(known.path);
    if (of === undefined || other === undefined) return;
    const params = { profile: of.profile, step: of.step, path, other: other.profile, otherStep: other.step, side: 'before' as const };
    transport
      .request('hotlens/timeline/counterpart', params)
      .then((counterpart) => open(counterpart.path))
      .catch((error: Error) => note(error.message));
  }

  return { compareSteps, both, openCounterpart };
}
