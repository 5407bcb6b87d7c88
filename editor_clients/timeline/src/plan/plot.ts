// The curve: peak memory to the right, step time upwards, a point for each choice of blocks with the interval of its time, and the budget as a
// line with a handle below it.
import { element } from '../base/dom';
import { bytes } from '../base/format';
import type { PlanPoint } from '../server/what_if_messages';
import { changeOf } from './gains';
import { choiceAt, memoryAt, stairsOf, timeAt, type PlanModel } from './model';
import { budgetWords, choiceWords } from './words';

export interface PlanPlot {
  readonly root: HTMLElement;
  readonly plot: HTMLElement; // as wide as the axis of memory
  readonly track: HTMLElement; // likewise, of the handle
  readonly handle: HTMLElement;
  readonly drawModel: (model: PlanModel, blocks: number) => void;
  readonly drawBudget: (model: PlanModel, budget: number, blocks: number) => void;
}

const APART = 0.2; // of the plot: two lines of text need as much

const place = (share: number): string => `${(share * 100).toFixed(2)}%`;

function stairs(model: PlanModel): HTMLElement[] {
  return stairsOf(model).map(({ from, to, point }) => {
    const [level, next] = [timeAt(model, point.step), timeAt(model, choiceAt(model, to).step)];
    const style = {
      left: place(memoryAt(model, from)),
      right: place(1 - memoryAt(model, to)),
      bottom: place(Math.min(level, next)),
      height: place(Math.abs(level - next)),
    };
    return element('i', { class: 'stair', style });
  });
}

function mark(model: PlanModel, point: PlanPoint, blocks: number): HTMLElement[] {
  const left = place(memoryAt(model, point.peak));
  const [low, at, high] = [point.low, point.step, point.high].map((ns) => timeAt(model, ns)) as [number, number, number];
  const unchanged = point.blocks.length === 0;
  const dot = element('i', {
    class: unchanged ? 'point unchanged' : 'point',
    title: `${choiceWords(model, point, blocks)}${unchanged ? '' : `\n${point.blocks.join(', ')}`}`,
    style: { left, bottom: place(at) },
  });
  if (unchanged) return [dot];
  return [element('i', { class: 'whisker', style: { left, bottom: place(low), height: place(high - low) } }), dot];
}

export function createPlanPlot(): PlanPlot {
  const known = element('div', { class: 'marks' });
  const beyond = element('i', { class: 'beyond', title: 'more memory than the budget' });
  const edge = element('i', { class: 'edge' });
  const plot = element('div', { class: 'plot' }, beyond, known, edge);
  const handle = element('span', {
    class: 'handle',
    title: 'drag to another budget of memory',
    attributes: { role: 'slider', tabindex: '0', 'aria-label': 'memory budget', 'aria-orientation': 'horizontal' },
  });
  const track = element('div', { class: 'track' }, handle);
  const [slow, fast, least, most] = ['slow', 'fast', 'least', 'most'].map((name) => element('span', { class: `limit ${name} dim number` }));
  const times = element('div', { class: 'times' }, slow!, fast!);
  const root = element(
    'div',
    { class: 'curve' },
    times,
    plot,
    track,
    element('div', { class: 'sizes' }, least!, element('span', { class: 'dim', text: 'peak memory' }), most!),
  );
  let dots: readonly (readonly [PlanPoint, Element])[] = [];

  function drawModel(model: PlanModel, blocks: number): void {
    known.replaceChildren(...stairs(model), ...model.points.flatMap((point) => mark(model, point, blocks)));
    dots = [...known.querySelectorAll('.point')].map((dot, at) => [model.points[at]!, dot] as const);
    const longest = Math.max(...model.points.map(({ step }) => step));
    slow!.textContent = `≈ ${changeOf(longest / model.base.step)}`;
    fast!.textContent = 'time as it is';
    const [top, bottom] = [longest, model.base.step].map((ns) => timeAt(model, ns)) as [number, number];
    slow!.style.bottom = place(top);
    fast!.style.bottom = place(bottom);
    slow!.hidden = top - bottom < APART;
    least!.textContent = bytes(model.least);
    most!.textContent = bytes(model.most);
    handle.setAttribute('aria-valuemin', String(model.least));
    handle.setAttribute('aria-valuemax', String(model.most));
  }

  function drawBudget(model: PlanModel, budget: number, blocks: number): void {
    const at = place(memoryAt(model, budget));
    const chosen = choiceAt(model, budget);
    handle.style.left = at;
    edge.style.left = at;
    beyond.style.left = at;
    for (const [point, dot] of dots) dot.classList.toggle('chosen', point === chosen);
    handle.setAttribute('aria-valuenow', String(budget));
    handle.setAttribute('aria-valuetext', budgetWords(model, budget, blocks));
  }

  return { root, plot, track, handle, drawModel, drawBudget };
}
