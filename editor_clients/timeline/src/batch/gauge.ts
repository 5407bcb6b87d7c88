// One bar: how much of a value a batch size takes, with the sizes that are known, the end of memory, and a handle to drag.
import { element } from '../base/dom';
import { handleAt } from './drag';
import { costAt, endOn, topOf, shownBy, type BatchModel, type Gauge } from './model';
import { intervalWords, memoryWords, rateWords, sizeWords } from './words';

export interface GaugeBar {
  readonly root: HTMLElement;
  readonly track: HTMLElement;
  readonly handle: HTMLElement;
  readonly drawModel: (model: BatchModel) => void;
  readonly drawSize: (model: BatchModel, size: number) => void;
}

const place = (share: number): string => `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`;

function marks(model: BatchModel, gauge: Gauge): HTMLElement[] {
  const top = topOf(model, gauge);
  const ticks = model.points.flatMap(({ batchSize, measured }) => {
    const value = shownBy(gauge, costAt(model, batchSize));
    return value === undefined ? [] : [element('i', { class: measured ? 'tick measured' : 'tick', style: { left: place(value / top) } })];
  });
  const end = endOn(model, gauge);
  if (end === undefined) return ticks;
  const { largest } = model.memory!;
  const title = `memory ends here: up to ${largest} fit`;
  // Beyond the end of memory nothing fits; less throughput may fit, so there it is a mark alone.
  const beyond = gauge === 'memory' ? [element('i', { class: 'beyond', title, style: { left: place(end) } })] : [];
  return [...ticks, ...beyond, element('i', { class: 'end', title, style: { left: place(end) } })];
}

export function createGauge(gauge: Gauge): GaugeBar {
  const fill = element('i', { class: 'fill' });
  const interval = element('i', { class: 'interval' });
  const known = element('span', { class: 'marks' });
  const name = gauge === 'memory' ? 'peak memory' : 'throughput';
  const handle = element('span', {
    class: 'handle',
    title: 'drag to another batch size',
    attributes: { role: 'slider', tabindex: '0', 'aria-label': `batch size, by ${name}`, 'aria-orientation': 'horizontal' },
  });
  const track = element('div', { class: 'track' }, fill, known, interval, handle);
  const number = element('span', { class: 'number' });
  const root = element('div', { class: 'gauge' }, element('span', { class: 'dim', text: name }), track, number);

  function drawModel(model: BatchModel): void {
    known.replaceChildren(...marks(model, gauge));
    handle.setAttribute('aria-valuemin', String(model.least));
    handle.setAttribute('aria-valuemax', String(model.most));
  }

  function drawSize(model: BatchModel, size: number): void {
    const cost = costAt(model, size);
    const at = place(handleAt(model, gauge, size));
    fill.style.width = at;
    handle.style.left = at;
    root.classList.toggle('predicted', !cost.measured);
    root.classList.toggle('unknown', shownBy(gauge, cost) === undefined);
    const { rate } = cost;
    const spread = gauge === 'throughput' && rate !== undefined && !cost.measured ? rate : undefined;
    interval.hidden = spread === undefined;
    if (spread !== undefined) {
      const top = topOf(model, gauge);
      interval.style.left = place(spread.low / top);
      interval.style.right = place(1 - spread.high / top);
      interval.title = `the interval: ${intervalWords(spread)}`;
    }
    number.textContent = gauge === 'memory' ? memoryWords(cost, model) : rateWords(cost);
    number.title = spread === undefined ? '' : intervalWords(spread);
    handle.setAttribute('aria-valuenow', String(cost.batchSize));
    handle.setAttribute('aria-valuetext', sizeWords(model, size));
  }

  return { root, track, handle, drawModel, drawSize };
}
