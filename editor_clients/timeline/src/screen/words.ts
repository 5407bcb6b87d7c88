// What the screen says: the one sentence above the levels, and the selection for who listens.
import { time } from '../base/format';
import { differenceOf, differenceWords, type Selected } from '../compare/difference';
import { rangeWords } from '../panel/range';
import { isBeside } from '../state/beside';
import type { InState } from '../state/in_state';
import type { State } from '../state/state';
import { blockWords, type Seen } from '../view/shown';

const CONNECTION_WORDS: Readonly<Record<State['connection'], string>> = {
  connecting: 'Connecting to hotlens …',
  open: '',
  lost: 'The connection to hotlens is lost. Trying again; if it was stopped, start it again (hotlens serve).',
  refused: "This page's token is not valid any more: hotlens was started again. Open the address that it prints now.",
};

// The one sentence above the levels, most urgent first.
export function sentence(state: InState<'connection' | 'failures' | 'overview' | 'profiles' | 'note'>): {
  readonly text: string;
  readonly error: boolean;
} {
  const unconnected = state.connection === 'connecting' && state.overview !== undefined ? '' : CONNECTION_WORDS[state.connection];
  if (unconnected !== '') return { text: unconnected, error: state.connection !== 'connecting' };
  const failed =
    ['profiles', 'overview'].find((slot) => state.failures[slot] !== undefined) ??
    Object.keys(state.failures).find((slot) => slot.startsWith('level'));
  if (failed !== undefined) return { text: state.failures[failed]!, error: true };
  if (state.profiles?.profiles.length === 0)
    return { text: 'There is no profile yet. Run hotlens run train.py, or choose Profile in the editor.', error: false };
  if (state.overview === undefined) return { text: 'Reading the profile …', error: false };
  return { text: state.note ?? '', error: false };
}

export function spokenSelection(state: Selected & InState<'range'>, seen: Seen | undefined): string {
  if (state.range !== undefined) return rangeWords(state.range);
  if (seen === undefined) return '';
  const side = !isBeside(state.view) ? '' : seen.before === undefined ? ', after' : ', before';
  const block = `${blockWords(seen)}, ${seen.kind}, ${time(seen.busy)}, on ${seen.trackName}${side}${seen.open ? ', can be opened' : ''}`;
  return [block, differenceWords(differenceOf(state))].filter((text) => text !== '').join('. ');
}
