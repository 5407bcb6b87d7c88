// Where a match of the search leads: to its block and its other calls, into the step that has it, to its line.
import type { Match } from '../server/table_messages';
import type { InState, InView } from '../state/in_state';
import { note, selectedPath } from '../state/state';
import type { Reveal } from './reveal';
import { sayWhy, type Ways } from './ways';

type Reads = InState<'search'> & InView<'profile' | 'step' | 'path' | 'cursor'>;

export function createFollow(ways: Ways<Reads>, reveal: Reveal) {
  const { read, dispatch, request } = ways;

  // What only another step has: where it is there is known to a search in that step.
  function followToStep({ kind, label }: Match, step: number, position: number): void {
    const { profile } = read().view;
    request('hotlens/timeline/search', { step, query: label, ...(profile === undefined ? {} : { profile }) })
      .then(({ matches }) => {
        const there = matches.find((each) => each.kind === kind && each.label === label);
        if (there?.path === undefined) return dispatch(note(`${label} is not below a block of that step.`));
        dispatch({ type: 'go', path: there.path, step });
        dispatch({ type: 'match', at: position });
      })
      .catch(sayWhy(ways));
  }

  function follow(match: Match, position: number): void {
    const { step } = read().search.answer ?? {};
    if (match.path !== undefined) dispatch({ type: 'go', path: match.path, ...(step === undefined ? {} : { step }) });
    else if (match.step !== undefined) followToStep(match, match.step, position);
    else if (match.file !== undefined) reveal({ file: match.file, line: match.line ?? 0 });
    dispatch({ type: 'match', at: position }); // another step has begun with none
  }

  function goToMatch(by: 1 | -1): void {
    const { answer, at } = read().search;
    const count = answer?.matches.length ?? 0;
    if (answer === undefined || count === 0) return dispatch(note('Nothing was searched for yet: press / first.'));
    const next = at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
    const match = answer.matches[next]!;
    follow(match, next);
    dispatch(note(`${next + 1} of ${answer.total}: ${match.label}`));
  }

  // Through the calls of one name in this step first, then on to the next name.
  function nextMatch(by: 1 | -1): void {
    const { search, view } = read();
    const match = search.answer?.matches[search.at];
    const path = selectedPath(view);
    const { profile, step } = view;
    if (match?.path === undefined || match.count < 2 || path === undefined || step === undefined) return goToMatch(by);
    if (step !== search.answer?.step) return goToMatch(by);
    request('hotlens/timeline/call', { step, path, back: by < 0, ...(profile === undefined ? {} : { profile }) })
      .then(({ path: next, position, count }) => {
        if (next === undefined) return goToMatch(by);
        dispatch({ type: 'go', path: next });
        dispatch({ type: 'match', at: search.at });
        dispatch(note(`${position + 1} of ${count} calls: ${match.label}`));
      })
      .catch(sayWhy(ways));
  }

  return { follow, nextMatch };
}
