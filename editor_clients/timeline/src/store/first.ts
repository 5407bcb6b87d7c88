// What the server knew when it sent the page travels inside it: the first picture needs no connection.
import type { Level } from '../server/level_messages';
import type { Overview, Profiles } from '../server/messages';
import { reduce } from '../state/reduce';
import type { Action, State } from '../state/state';

export interface FirstAnswers {
  readonly profiles: Profiles;
  readonly overview: Overview;
  readonly level: Level; // the whole step
  readonly width: number; // pixels it is for
}

// Undefined where the server had nothing ready, or the page came from elsewhere.
export function readFirst(text: string | null | undefined): FirstAnswers | undefined {
  return text ? (JSON.parse(text) as FirstAnswers) : undefined;
}

// What is about another profile or step than the address names changes nothing and is asked for as ever.
export function withFirst(state: State, first: FirstAnswers | undefined): State {
  if (first === undefined) return state;
  const { profiles, overview, level, width } = first;
  const actions: Action[] = [
    { type: 'profiles', profiles },
    { type: 'overview', overview },
    { type: 'level', depth: 0, whole: true, loaded: { level, width, unfold: false } },
  ];
  return actions.reduce(reduce, state);
}
