// The panel while a range of time is chosen: how busy each track was in it, and what ran there, added up.
import { element } from '../base/dom';
import { exact, percent, spoken, time } from '../base/format';
import type { RangeSums } from '../server/details_messages';
import type { Range } from '../state/state';
import { kernelsPart } from './kernels';
import { table, title, type Row } from './pieces';

const MOST_TRACKS = 6;
const MOST_PARTS = 8; // rows of a list
const MOST_PATH = 36; // characters of a layer's path

const length = ({ span }: Range): number => span[1] - span[0];

export const rangeWords = (range: Range): string => `${time(length(range))} chosen, from ${time(range.span[0])} to ${time(range.span[1])}`;

function busyRows({ from, to, device, tracks, exposedCommunication }: RangeSums): Row[] {
  const row = (name: string, busy: number): Row => [
    name,
    `${time(busy)}  ${percent(busy / Math.max(1, to - from))} of the range`,
    exact(busy),
  ];
  const longest = [...tracks].sort((a, b) => b.busy - a.busy).slice(0, MOST_TRACKS);
  const exposed = exposedCommunication === undefined ? [] : [row('exposed communication', exposedCommunication)];
  return [...(device > 0 ? [row('device busy', device)] : []), ...exposed, ...longest.map(({ name, busy }) => row(name, busy))];
}

// Stages and layers, of the device's time where it has some; a layer is told by the end of its path.
function partsOf(head: string, parts: RangeSums['stages'], words: (name: string) => string): HTMLElement[] {
  if (parts.length === 0) return [];
  const rows = parts.slice(0, MOST_PARTS).map(({ name, time: of }): Row => [words(name), time(of), `${name}, ${exact(of)}`]);
  const more = parts.length - rows.length;
  const rest: Row[] = more > 0 ? [[`${more} smaller`, '', '']] : [];
  return [element('h2', { text: head }), table([...rows, ...rest])];
}

const layerWords = (path: string): string => (path.length > MOST_PATH ? `…${path.slice(-MOST_PATH)}` : path);

const sumsPart = (sums: RangeSums): HTMLElement[] => [
  table(busyRows(sums)),
  ...partsOf(sums.device > 0 ? 'Stages, on the device' : 'Stages', sums.stages, spoken),
  ...partsOf(sums.device > 0 ? 'Layers, on the device' : 'Layers', sums.layers, layerWords),
  ...kernelsPart(sums.kernels, sums.moreKernels, true),
  ...kernelsPart(sums.operators, sums.moreOperators, false),
];

// `both`: of both timelines, after first, as everywhere in the panel.
export function renderRange(range: Range, failure: string | undefined, both: boolean): HTMLElement[] {
  const top = element('h2', { text: both ? 'Range, after' : 'Range' });
  const [from, to] = range.span.map(exact);
  const head = title(time(length(range)), undefined, `from ${time(range.span[0])} to ${time(range.span[1])}`, `${from} to ${to}`);
  if (failure !== undefined) return [top, ...head, element('p', { class: 'error', text: failure })];
  if (range.sums === undefined) return [top, ...head, element('div', { class: 'skeleton' })];
  const before = !both || range.before === undefined ? [] : [element('h2', { text: 'Range, before' }), ...sumsPart(range.before)];
  return [top, ...head, ...sumsPart(range.sums), ...before];
}
