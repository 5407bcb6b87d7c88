// The search field and its matches: stages, modules, operators, kernels and files of the step, and what only other steps have.
import { element } from '../base/dom';
import { time } from '../base/format';
import type { Commands } from '../commands/commands';
import type { Match } from '../server/table_messages';
import type { InState } from '../state/in_state';
import type { Dispatch } from '../state/state';

type Searched = InState<'search' | 'overview'>;

export interface SearchBox {
  readonly root: HTMLElement;
  readonly focus: () => void;
  readonly render: (state: Searched) => void;
}

const MOST_PATH = 44; // characters of a module's path
const TYPING_MS = 120; // a pause in typing after which is searched

// The end of a module's path tells it from its like; other names are told by their beginning.
const shownLabel = ({ kind, label }: Match): string =>
  kind === 'module' && label.length > MOST_PATH ? `…${label.slice(-MOST_PATH)}` : label;

// Where in the recording: nothing for what every step has.
export function stepsWords({ step, steps }: Match, { overview }: InState<'overview'>): string {
  const all = overview?.steps.length ?? 1;
  if (steps === undefined || steps >= all) return '';
  const first = step === undefined ? '' : `step ${overview?.steps[step]?.index ?? step}`;
  return [first, step !== undefined && steps === 1 ? 'only' : `in ${steps} of ${all} steps`]
    .filter((each) => each !== '')
    .join(steps === 1 ? ' ' : ', ');
}

function line(match: Match, position: number, state: Searched, commands: Commands): HTMLElement {
  const { at } = state.search;
  const count = match.count > 1 ? ` ×${match.count}` : '';
  return element(
    'li',
    {
      class: position === at ? 'match here' : 'match',
      title: [match.label, match.detail].filter((text) => text !== '').join('\n'),
      attributes: { id: `match-${position}`, role: 'option', 'aria-selected': String(position === at) },
      on: { mousedown: (event) => event.preventDefault(), click: () => commands.follow(match, position) },
    },
    element('span', { class: 'kind', text: match.kind }),
    element('span', { class: 'label', text: `${shownLabel(match)}${count}` }),
    element('span', { class: 'dim', text: match.detail }),
    element('span', { class: 'where', text: stepsWords(match, state) }),
    element('span', { class: 'number', text: match.time > 0 ? time(match.time) : '' }),
  );
}

export function createSearch(dispatch: Dispatch, commands: () => Commands, leave: () => void): SearchBox {
  const input = element('input', {
    attributes: {
      type: 'search',
      role: 'combobox',
      'aria-controls': 'matches',
      'aria-autocomplete': 'list',
      placeholder: '/ search',
      'aria-label': 'search all steps',
      spellcheck: 'false',
    },
  });
  const list = element('ul', { class: 'matches', attributes: { id: 'matches', role: 'listbox', 'aria-label': 'matches' } });
  const root = element('div', { class: 'search' }, input, list);
  let typing = 0;
  let known: Searched['search'] | undefined; // what is shown
  const search = (): void => dispatch({ type: 'search', open: true, query: input.value.trim() });
  input.addEventListener('input', () => {
    clearTimeout(typing);
    typing = window.setTimeout(search, TYPING_MS);
  });
  input.addEventListener('focus', () => dispatch({ type: 'search', open: true }));
  input.addEventListener('blur', () => dispatch({ type: 'search', open: false }));
  input.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key === 'Escape') return leave();
    if (event.key === 'ArrowDown') commands().run('next match');
    else if (event.key === 'ArrowUp') commands().run('previous match');
    else if (event.key === 'Enter') {
      if (known?.answer?.query !== input.value.trim()) return search();
      if (known.at < 0) commands().run('next match');
      return leave();
    } else return;
    event.preventDefault();
  });

  function render(state: Searched): void {
    known = state.search;
    const { open, answer, query } = known;
    root.classList.toggle('open', open && query !== '');
    input.setAttribute('aria-expanded', String(open && query !== ''));
    input.setAttribute('aria-activedescendant', open && state.search.at >= 0 ? `match-${state.search.at}` : '');
    if (!open) return;
    const matches = answer?.query === query ? answer.matches : undefined;
    if (matches === undefined) return list.replaceChildren(element('li', { class: 'dim', text: query === '' ? '' : 'searching…' }));
    const more = (answer?.total ?? 0) - matches.length;
    list.replaceChildren(
      ...matches.map((match, position) => line(match, position, state, commands())),
      ...(matches.length === 0 ? [element('li', { class: 'dim', text: `Nothing in any step is named ${query}.` })] : []),
      ...(more > 0 ? [element('li', { class: 'dim', text: `${more} more: type more of the name` })] : []),
    );
    list.querySelector('.here')?.scrollIntoView({ block: 'nearest' });
  }
  return { root, focus: () => input.select(), render };
}
