// What the panel says of the exchanges between processes below a block.
import { counted } from './columns';
import { element } from './dom';
import { bytes, exact, time } from './format';
import type { Collective } from './messages';

// "16 processes, Float, ring, LL", and below it "103 MB, bus at least 15.2 GB/s".
export function collectiveWords({ processes, type, algorithm, bytes: size, busBandwidth, algorithmBandwidth }: Collective): string[] {
  const how = [processes === undefined ? '' : `${processes} processes`, type ?? '', algorithm ?? ''];
  const speeds = [
    size === undefined ? '' : bytes(size),
    busBandwidth === undefined ? '' : `bus at least ${bytes(busBandwidth)}/s`,
    algorithmBandwidth === undefined ? '' : `algorithm ${bytes(algorithmBandwidth)}/s`,
  ];
  return [how, speeds].map((words) => words.filter((each) => each !== '').join(', ')).filter((line) => line !== '');
}

const TIP = 'of all calls together; the time holds the waiting for other processes, so the exchange itself is at least this fast';

function collectiveRow(each: Collective): HTMLElement {
  const lines = collectiveWords(each).map((text) => element('div', { class: 'dim', text }));
  const name = element('td', {}, element('div', { text: counted(each.operation, each.calls) }), ...lines);
  return element('tr', { title: `group ${each.group}, ${exact(each.time)}\n${TIP}` }, name, element('td', { text: time(each.time) }));
}

export function collectivesPart(collectives: readonly Collective[] | undefined): HTMLElement[] {
  if (collectives === undefined) return [];
  return [
    element('h2', { text: 'Communication between processes' }),
    element('table', { class: 'times spent' }, ...collectives.map(collectiveRow)),
  ];
}
