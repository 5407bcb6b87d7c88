// The panel of idle time: why nothing runs, what the host did meanwhile, what came next.
import { shortName } from './columns';
import type { Commands } from './commands';
import { button, element } from './dom';
import { exact, fileName, time } from './format';
import type { Idle } from './messages';
import type { Store } from './store';

const row = (name: HTMLElement | string, ns: number): HTMLElement =>
  element(
    'tr',
    { title: exact(ns) },
    typeof name === 'string' ? element('td', { text: name }) : element('td', {}, name),
    element('td', { text: time(ns) }),
  );

const part = (heading: string, rows: readonly HTMLElement[]): HTMLElement[] =>
  rows.length === 0 ? [] : [element('h2', { text: heading }), element('table', { class: 'times spent' }, ...rows)];

function doingRow({ what, waits, time: ns, file, line }: Idle['doing'][number], commands: Commands): HTMLElement {
  const words = `${shortName(what)}${waits ? ', waiting for the device' : ''}`;
  if (file === undefined || line === undefined) return row(words, ns);
  const place = `${fileName(file)}:${line + 1}`;
  const link = button(place, `show ${file}:${line + 1} in the editor`, () => commands.reveal({ file, line }));
  return row(element('span', {}, `${words} `, link), ns);
}

function nextRows(next: Idle['next'], end: number, store: Store): HTMLElement[] {
  if (next === undefined) return [];
  const { label, path, launch, caller, launched, launching, delay } = next;
  const link = button(label, 'show this block', () => store.dispatch({ type: 'go', path }));
  return [
    element('tr', {}, element('td', {}, link), element('td', { text: caller === undefined ? '' : `of ${shortName(caller)}` })),
    ...(launched === undefined || launched >= end ? [] : [row('its launch began before it by', end - launched)]),
    ...(launching === undefined ? [] : [row(`${launch ?? 'the launch'} took`, launching)]),
    ...(delay === undefined || delay === 0 ? [] : [row('then until it ran', delay)]),
  ];
}

export function idlePart(idle: Idle | undefined, failure: string | undefined, store: Store, commands: Commands): HTMLElement[] {
  if (failure !== undefined) return [element('p', { class: 'error', text: failure })];
  if (idle === undefined) return [element('div', { class: 'skeleton' })];
  if (idle.end === undefined) return [];
  return [
    ...part(
      'Why',
      idle.parts.map(({ what, time: ns }) => row(what, ns)),
    ),
    ...part(
      'The main thread meanwhile',
      idle.doing.map((each) => doingRow(each, commands)),
    ),
    ...part('What came next', nextRows(idle.next, idle.end, store)),
  ];
}
