// The list of pins above the details: a click goes to the block; the note of the selected one is written here.
import { isRecording } from './address';
import { button, element } from './dom';
import { time } from './format';
import { cleanNote, MOST_NOTE, pinKey, type Pin } from './pins';
import { selectedPath, type State } from './state';
import type { Store } from './store';

export interface PinList {
  readonly root: HTMLElement;
  readonly editNote: () => void; // of the selected block
  readonly render: (state: State) => void;
}

// The pin of the selected block.
export function selectedPin({ view }: State): Pin | undefined {
  const path = selectedPath(view);
  if (path === undefined || view.cursor?.before !== undefined || view.step === undefined) return undefined;
  const key = pinKey({ step: view.step, path });
  return view.pins?.find((pin) => pinKey(pin) === key);
}

// "layer1 · 12.4 ms", "step 9: layer1 · 12.4 ms"; of a block that is not there its path.
export function pinLabel(pin: Pin, state: State): { readonly text: string; readonly known: boolean } {
  const block = state.pinned[pinKey(pin)];
  const index = state.overview?.steps[pin.step]?.index ?? pin.step;
  const step = pin.step === state.view.step ? '' : `step ${index}: `;
  if (block === null) return { text: `${step}${pin.path.join(' › ')} is not in this profile`, known: false };
  return { text: `${step}${block === undefined ? pin.path.at(-1) : `${block.label} · ${time(block.ns)}`}`, known: true };
}

export function createPinList(store: Store, leave: () => void): PinList {
  const root = element('section', { class: 'pins', attributes: { 'aria-label': 'pins', hidden: '' } });
  const input = element('input', {
    attributes: { type: 'text', maxlength: String(MOST_NOTE), placeholder: 'note', 'aria-label': 'note of this pin', spellcheck: 'false' },
  });
  let edited: Pin | undefined; // whose note stands in the field

  function keep(): void {
    const now = edited?.note;
    const note = cleanNote(input.value).trim();
    if (edited !== undefined && note !== now) store.dispatch({ type: 'pin', pin: { ...edited, note } });
  }
  input.addEventListener('change', keep);
  input.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    leave();
  });

  function row(pin: Pin, state: State): HTMLElement {
    const { text, known } = pinLabel(pin, state);
    const go = (): void => store.dispatch({ type: 'go', path: pin.path, step: pin.step });
    const remove = button(
      '×',
      'remove this pin',
      () => store.dispatch({ type: 'unpin', step: pin.step, path: pin.path }),
      'tool',
      `remove the pin of ${text}`,
    );
    const name = known ? button(text, pin.path.join(' › '), go) : element('span', { class: 'dim', text });
    const note = pin === edited ? input : element('span', { class: 'note', text: pin.note, title: pin.note });
    return element('li', {}, element('div', {}, name, remove), note);
  }

  // The field stays what it is while somebody writes into it, whatever is drawn around it.
  function render(state: State): void {
    const { pins = [] } = state.view;
    const selected = isRecording(state.view) ? undefined : selectedPin(state);
    const writing = document.activeElement === input ? [input.selectionStart, input.selectionEnd] : undefined;
    const same = edited !== undefined && selected !== undefined && pinKey(edited) === pinKey(selected);
    edited = selected;
    if (!same || writing === undefined) input.value = selected?.note ?? '';
    root.toggleAttribute('hidden', pins.length === 0);
    root.replaceChildren(
      element('h2', { text: pins.length === 1 ? 'Pin' : `Pins (${pins.length})` }),
      element('ul', {}, ...pins.map((pin) => row(pin, state))),
    );
    if (writing === undefined || !same) return;
    input.focus({ preventScroll: true });
    input.setSelectionRange(writing[0]!, writing[1]!);
  }

  return { root, render, editNote: () => input.focus() };
}
