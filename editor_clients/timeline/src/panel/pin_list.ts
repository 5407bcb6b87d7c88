// The list of pins above the details: a click goes to the block; the note of the selected one is written here.
import { button, element } from '../base/dom';
import { time } from '../base/format';
import { shortName } from '../server/columns';
import { isRecording } from '../state/address';
import type { InState, InView } from '../state/in_state';
import { cleanNote, MOST_NOTE, pinKey, type Pin } from '../state/pins';
import { selectedPath, type Dispatch } from '../state/state';

const MOST_NAME = 60; // characters

type Labelled = InState<'overview' | 'pinned'> & InView<'step'>;
type Listed = InView<'step' | 'path' | 'cursor' | 'pins'>;

export interface PinList {
  readonly root: HTMLElement;
  readonly editNote: () => void; // of the selected block
  readonly render: (state: Labelled & Listed) => void;
}

// The pin of the selected block.
export function selectedPin({ view }: Listed): Pin | undefined {
  const path = selectedPath(view);
  if (path === undefined || view.cursor?.before !== undefined || view.step === undefined) return undefined;
  const key = pinKey({ step: view.step, path });
  return view.pins?.find((pin) => pinKey(pin) === key);
}

// "layer1 · 12.4 ms", "step 9: layer1 · 12.4 ms"; of a block that is not there its path.
export function pinLabel(pin: Pin, state: Labelled): { readonly text: string; readonly known: boolean } {
  const block = state.pinned[pinKey(pin)];
  const index = state.overview?.steps[pin.step]?.index ?? pin.step;
  const step = pin.step === state.view.step ? '' : `step ${index}: `;
  const name = shortName(block?.label ?? pin.path.at(-1)!);
  const shown = name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name;
  if (block === null) return { text: `${step}${shown} is not in this profile`, known: false };
  return { text: `${step}${shown}${block === undefined ? '' : ` · ${time(block.ns)}`}`, known: true };
}

export function createPinList(dispatch: Dispatch, leave: () => void): PinList {
  const root = element('section', { class: 'pins', attributes: { 'aria-label': 'pins' } });
  const input = element('input', {
    attributes: { type: 'text', maxlength: String(MOST_NOTE), placeholder: 'note', 'aria-label': 'note of this pin', spellcheck: 'false' },
  });
  const heading = element('h2');
  const list = element('ul');
  const field = element('li', {}, element('div'), input); // the row of the selected pin: it stays in the page while somebody writes in it
  let edited: Pin | undefined; // whose note stands in the field

  function keep(): void {
    const now = edited?.note;
    const note = cleanNote(input.value).trim();
    if (edited !== undefined && note !== now) dispatch({ type: 'pin', pin: { ...edited, note } });
  }
  input.addEventListener('change', keep);
  input.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    leave();
  });

  function head(pin: Pin, state: Labelled): HTMLElement[] {
    const { text, known } = pinLabel(pin, state);
    const go = (): void => dispatch({ type: 'go', path: pin.path, step: pin.step });
    const remove = button(
      '×',
      'remove this pin',
      () => dispatch({ type: 'unpin', step: pin.step, path: pin.path }),
      'tool',
      `remove the pin of ${text}`,
    );
    const where = pin.path.join(' › ');
    return [known ? button(text, where, go) : element('span', { class: 'dim', text, title: where }), remove];
  }

  const row = (pin: Pin, state: Labelled): HTMLElement =>
    element('li', {}, element('div', {}, ...head(pin, state)), element('span', { class: 'note', text: pin.note, title: pin.note }));

  function render(state: Labelled & Listed): void {
    const { pins = [] } = state.view;
    const selected = isRecording(state.view) ? undefined : selectedPin(state);
    const same = edited !== undefined && selected !== undefined && pinKey(edited) === pinKey(selected);
    edited = selected;
    if (!same || document.activeElement !== input) input.value = selected?.note ?? '';
    if (selected !== undefined) field.firstElementChild!.replaceChildren(...head(selected, state));
    for (const each of [...list.children]) if (each !== field || selected === undefined) each.remove();
    const at = selected === undefined ? -1 : pins.indexOf(selected);
    if (at >= 0 && field.parentElement !== list) list.append(field);
    pins.forEach((pin, position) => {
      if (position !== at) list.insertBefore(row(pin, state), position < at ? field : null);
    });
    if (pins.length === 0) root.replaceChildren();
    else if (root.childElementCount === 0) root.append(heading, list);
    heading.textContent = pins.length === 1 ? 'Pin' : `Pins (${pins.length})`;
  }

  return { root, render, editNote: () => input.focus() };
}
