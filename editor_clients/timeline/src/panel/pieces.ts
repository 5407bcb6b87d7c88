// What the panel beside the levels is made of: a title, headings, tables of a name and a value.
import { element, tableRow } from '../base/dom';
import { shortName } from '../server/columns';

export type Row = readonly [name: string, value: string, tip: string];

export const table = (rows: readonly Row[], kind = 'times'): HTMLElement =>
  element('table', { class: kind }, ...rows.map(([name, value, tip]) => tableRow({ title: tip }, name, value)));

export const heading = (text: string): HTMLElement => element('h2', { text });

export function title(label: string, kind: string | undefined, dim: string, full = label): HTMLElement[] {
  return [
    element(
      'div',
      { class: 'title', title: full },
      element('b', { text: shortName(label) }),
      element('span', { class: 'dim', text: kind === undefined || kind === '' ? '' : ` ${kind}` }),
    ),
    element('div', { class: 'dim', text: dim }),
  ];
}
