// The panel of idle time: why nothing runs, what the host did meanwhile, what came next.
import { button, element, tableRow } from '../base/dom';
import { exact, fileName, time } from '../base/format';
import type { Reveal } from '../commands/reveal';
import { shortName } from '../server/columns';
import type { Idle } from '../server/details_messages';
import type { Dispatch } from '../state/state';

const row = (name: HTMLElement | string, ns: number): HTMLElement => tableRow({ title: exact(ns) }, name, time(ns));

const part = (heading: string, rows: readonly HTMLElement[]): HTMLElement[] =>
  rows.length === 0 ? [] : [element('h2', { text: heading }), element('table', { class: 'times spent' }, ...rows)];

function doingRow({ what, waits, time: ns, file, line }: Idle['doing'][number], reveal: Reveal): HTMLElement {
  const words = `${shortName(what)}${waits ? ', waiting for the device' : ''}`;
  if (file === undefined || line === undefined) return row(words, ns);
  const place = `${fileName(file)}:${line + 1}`;
  const link = button(place, `show ${file}:${line + 1} in the editor`, () => reveal({ file, line }));
  return row(element('span', {}, `${words} `, link), ns);
}

function nextRows(next: Idle['next'], end: number, dispatch: Dispatch): HTMLElement[] {
  if (next === undefined) return [];
  const { label, path, launch, caller, launched, launching, delay } = next;
  const link = button(label, 'show this block', () => dispatch({ type: 'go', path }));
  return [
    tableRow({}, link, caller === undefined ? '' : `of ${shortName(caller)}`),
    ...(launched === undefined || launched >= end ? [] : [row('its launch began before it by', end - launched)]),
    ...(launching === undefined ? [] : [row(`${launch ?? 'the launch'} took`, launching)]),
    ...(delay === undefined || delay === 0 ? [] : [row('then until it ran', delay)]),
  ];
}

export function idlePart(idle: Idle | undefined, failure: string | undefined, dispatch: Dispatch, reveal: Reveal): HTMLElement[] {
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
      idle.doing.map((each) => doingRow(each, reveal)),
    ),
    ...part('What came next', nextRows(idle.next, idle.end, dispatch)),
  ];
}
