// What the state forgets when another step or another profile is shown. Pure.
import type { View } from './address';
import { NO_BATCH } from './batch';
import { NOTHING_BESIDE, type Beside } from './beside';
import { NO_FAILURES, type State } from './state';
import { NO_WHAT_IFS } from './what_if';

// The other profile stays known while steps of this one change.
const forgetBeside = ({ overview }: Beside): Beside => ({ ...NOTHING_BESIDE, ...(overview === undefined ? {} : { overview }) });

// Only the keys of a step are kept when another step or profile is shown.
export const forgetStep = (state: State): State => {
  const { lanes: _lanes, details: _details, idle: _idle, arrows: _arrows, note: _note, range: _range, pointed: _pointed, ...rest } = state;
  const beside = forgetBeside(state.beside);
  return { ...rest, levels: [], beside, breakdowns: {}, failures: NO_FAILURES, search: { ...state.search, at: -1 } };
};

export const forgetProfile = (state: State): State => {
  const { overview: _overview, ...rest } = forgetStep(state);
  return {
    ...rest,
    drill: [],
    comparisons: {},
    beside: NOTHING_BESIDE,
    batch: { ...NO_BATCH, asked: state.batch.asked + 1 },
    whatIfs: { ...NO_WHAT_IFS, asked: state.whatIfs.asked + 1 },
    pinned: {},
    expanded: [],
    search: { open: false, query: '', at: -1 },
  };
};

// The cursor where it stands in the shown timeline: the other one is not drawn any more.
export const ownCursor = ({ cursor }: View): Pick<View, 'cursor'> =>
  cursor === undefined || cursor.before !== undefined ? {} : { cursor };

export function withoutFailure(state: State, slot: string): State {
  const { [slot]: failure, ...failures } = state.failures;
  return failure === undefined ? state : { ...state, failures };
}

export function withoutRange(state: State): State {
  const { range: _range, ...rest } = state;
  return rest;
}
