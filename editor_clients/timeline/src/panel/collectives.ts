// What the panel says of the exchanges between processes below a block.
import { element, tableRow } from '../base/dom';
import { bytes, exact, percent, time } from '../base/format';
import { counted } from '../server/columns';
import type { Collective } from '../server/details_messages';

// "16 processes, Float, ring, LL", below it "103 MB, bus at least 15.2 GB/s", then "80 % hidden by other work".
export function collectiveWords(each: Collective): string[] {
  const { processes, type, algorithm, bytes: size, busBandwidth, algorithmBandwidth, time: whole, exposed } = each;
  const how = [processes === undefined ? '' : `${processes} processes`, type ?? '', algorithm ?? ''];
  const speeds = [
    size === undefined ? '' : bytes(size),
    busBandwidth === undefined ? '' : `bus at least ${bytes(busBandwidth)}/s`,
    algorithmBandwidth === undefined ? '' : `algorithm ${bytes(algorithmBandwidth)}/s`,
  ];
  const hidden = whole > 0 ? [`${percent(Math.max(0, 1 - exposed / whole))} hidden by other work`] : [];
  return [how, speeds, hidden].map((words) => words.filter((each) => each !== '').join(', ')).filter((line) => line !== '');
}

const TIP = 'of all calls together; the time holds the waiting for other processes, so the exchange itself is at least this fast';

function collectiveRow(each: Collective): HTMLElement {
  const lines = collectiveWords(each).map((text) => element('div', { class: 'dim', text }));
  const name = element('td', {}, element('div', { text: counted(each.operation, each.calls) }), ...lines);
  return tableRow({ title: `group ${each.group}, ${exact(each.time)}\n${TIP}` }, name, time(each.time));
}

export function collectivesPart(collectives: readonly Collective[] | undefined): HTMLElement[] {
  if (collectives === undefined) return [];
  return [
    element('h2', { text: 'Communication between processes' }),
    element('table', { class: 'times spent' }, ...collectives.map(collectiveRow)),
  ];
}
