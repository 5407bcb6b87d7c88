// The panel's tables of arithmetic by unique arguments, and of what would shorten the step.
import { element, tableRow } from '../base/dom';
import { exact, percent, rate, time } from '../base/format';
import type { Details, OperatorCost } from '../server/details_messages';
import { table, type Row } from './pieces';

const MOST_COSTS = 8;
const MOST_CAUSES = 5;

export const costWords = ({
  flopsPerSecond,
  bytesPerSecond,
  ofRoof,
}: Pick<OperatorCost, 'flopsPerSecond' | 'bytesPerSecond' | 'ofRoof'>): string[] => [
  rate(flopsPerSecond, 'FLOP/s'),
  bytesPerSecond === undefined ? 'bytes unknown' : rate(bytesPerSecond, 'B/s'),
  ...(ofRoof === undefined ? [] : [`${percent(ofRoof)} of the roof`]),
];

const costRow = ({ name, shapes, type, calls, time: ns, ...reached }: OperatorCost): HTMLElement =>
  tableRow(
    { title: [name, shapes, exact(ns)].join('\n') },
    element(
      'td',
      {},
      element('div', { text: `${name}${type === undefined ? '' : ` ${type}`}${calls > 1 ? ` ×${calls}` : ''}` }),
      element('div', { class: 'dim', text: shapes }),
    ),
    element('td', { class: 'dim' }, ...costWords(reached).map((text) => element('div', { text }))),
    time(ns),
  );

const roofWords = (roof: Details['roof']): string =>
  roof === undefined ? '' : `The roof is that of ${roof.device}${roof.published ? ', as published' : ''}.`;

export function costsPart({ costs = [], roof }: Pick<Details, 'costs' | 'roof'>): HTMLElement[] {
  if (costs.length === 0) return [];
  const words = roofWords(roof);
  return [
    element('h2', { text: 'Arithmetic by arguments' }),
    element('table', { class: 'kernels' }, ...costs.slice(0, MOST_COSTS).map(costRow)),
    ...(words === '' ? [] : [element('p', { class: 'dim', text: words })]),
  ];
}

// Along the critical path: less of one of these ends the step sooner.
export function shortensPart(shortens: Details['shortens'] = []): HTMLElement[] {
  if (shortens.length === 0) return [];
  const whole = shortens.reduce((sum, each) => sum + each.time, 0);
  const rows = shortens
    .slice(0, MOST_CAUSES)
    .map(({ what, time: ns }): Row => [what, `${time(ns)}  ${percent(ns / whole)} of the step`, exact(ns)]);
  return [element('h2', { text: 'On the critical path: what would shorten the step' }), table(rows, 'times spent')];
}
