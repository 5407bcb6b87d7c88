// Where a match of the search leads: to its block and its other calls, into the step that has it, to its line.
import type { Match, Place } from './messages';
import { selectedPath } from './state';
import type { Store } from './store';
import type { Transport } from './transport';

export interface Follow {
  readonly follow: (match: Match, position: number) => void;
  readonly nextMatch: (by: 1 | -1) => void;
}

interface Ways {
  readonly note: (text: string) => void;
  readonly reveal: (place: Pick<Place, 'file' | 'line'>) => void;
}

export function createFollow(store: Store, transport: Transport, { note, reveal }: Ways): Follow {
  // What only another step has: where it is there is known to a search in that step.
  function followToStep({ kind, label }: Match, step: number, position: number): void {
    const { profile } = store.get().view;
    transport
      .request('hotlens/timeline/search', { step, query: label, ...(profile === undefined ? {} : { profile }) })
      .then(({ matches }) => {
        const there = matches.find((each) => each.kind === kind && each.label === label);
        if (there?.path === undefined) return note(`${label} is not below a block of that step.`);
        store.dispatch({ type: 'go', path: there.path, step });
        store.dispatch({ type: 'match', at: position });
      })
      .catch((error: Error) => note(error.message));
  }

  function follow(match: Match, position: number): void {
    const { step } = store.get().search.answer ?? {};
    if (match.path !== undefined) store.dispatch({ type: 'go', path: match.path, ...(step === undefined ? {} : { step }) });
    else if (match.step !== undefined) followToStep(match, match.step, position);
    else if (match.file !== undefined) reveal({ file: match.file, line: match.line ?? 0 });
    store.dispatch({ type: 'match', at: position }); // another step has begun with none
  }

  function goToMatch(by: 1 | -1): void {
    const { answer, at } = store.get().search;
    const count = answer?.matches.length ?? 0;
    if (answer === undefined || count === 0) return note('Nothing was searched for yet: press / first.');
    const next = at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
    const match = answer.matches[next]!;
    follow(match, next);
    note(`${next + 1} of ${answer.total}: ${match.label}`);
  }

  // Through the calls of one name in this step first, then on to the next name.
  function nextMatch(by: 1 | -1): void {
    const { search, view } = store.get();
    const match = search.answer?.matches[search.at];
    const path = selectedPath(view);
    const { profile, step } = view;
    if (match?.path === undefined || match.count < 2 || path === undefined || step === undefined) return goToMatch(by);
    if (step !== search.answer?.step) return goToMatch(by);
    transport
      .request('hotlens/timeline/call', { step, path, back: by < 0, ...(profile === undefined ? {} : { profile }) })
      .then(({ path: next, position, count }) => {
        if (next === undefined) return goToMatch(by);
        store.dispatch({ type: 'go', path: next });
        store.dispatch({ type: 'match', at: search.at });
        note(`${position + 1} of ${count} calls: ${match.label}`);
      })
      .catch((error: Error) => note(error.message));
  }

  return { follow, nextMatch };
}
