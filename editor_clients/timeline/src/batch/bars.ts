// Throughput and peak memory by batch size, as two bars: dragging the handle of one moves the other. Who lets go at another size is offered the
// edit of the number in the script, or is told where to set it.
import { copiedText } from '../base/clipboard';
import { button, element, refill } from '../base/dom';
import { carriedOut, listen } from '../base/slider_events';
import type { BatchPlace, BatchSizes } from '../server/batch_messages';
import type { Batch } from '../state/batch';
import type { BatchCommands } from './commands';
import { dragStep, type DragInput, type DragState } from './drag';
import { createGauge } from './gauge';
import { clampedSize, fits, modelOf, type BatchModel, type Gauge } from './model';
import { knownWords, lineWith, placeWords, sizeWords } from './words';

export interface BatchBars {
  readonly root: HTMLElement;
  readonly render: (batch: Batch, failure: string | undefined) => void;
}

const GAUGES: readonly Gauge[] = ['throughput', 'memory'];
const MOST_PLACES = 3; // told; more would fill the page

// Before anything is predicted: how it is.
function invitation(sizes: BatchSizes, said: string | undefined, commands: BatchCommands): HTMLElement[] {
  const why = said ?? sizes.why;
  const told = why === undefined ? [] : [element('span', { class: 'dim', text: why })];
  if (sizes.predict === 'running') return [element('span', { class: 'dim', text: 'predicting other batch sizes …' })];
  if (sizes.predict === 'offered') {
    const title = 'replays the recorded step at other sizes; a script that was recorded at one size alone runs once more first';
    return [button('Predict other batch sizes', title, () => commands.predict(sizes.profile), 'action'), ...told];
  }
  if (sizes.why !== undefined) return told;
  const lines = sizes.commands.map((text) => copiedText(text, commands.copy));
  return [element('span', { class: 'dim', text: 'other sizes are predicted in a terminal:' }), ...lines, ...told];
}

const setButton = (place: BatchPlace, was: number, size: number, commands: BatchCommands): HTMLElement =>
  button(`Set ${size} in ${placeWords(place)}`, `${place.file}\n${lineWith(place, size)}`, () => commands.set(place, was, size), 'action');

// What can be done about a size that somebody chose.
function offer(sizes: BatchSizes, model: BatchModel, size: number, commands: BatchCommands): HTMLElement[] {
  const was = model.base.batchSize;
  const back = button(`back to ${was}`, 'the measured batch size (Escape)', () => commands.choose(undefined));
  if (!fits(model, size)) return [back];
  const places = sizes.places.slice(0, MOST_PLACES);
  if (places.length === 0)
    return [element('span', { class: 'dim', text: `no file sets ${was} with one number: set ${size} where it comes from` }), back];
  if (sizes.edits) return [...places.map((place) => setButton(place, was, size, commands)), back];
  const lines = places.flatMap((place) => [
    element('span', { class: 'dim', text: `in ${placeWords(place)}:`, title: place.file }),
    copiedText(lineWith(place, size), commands.copy),
  ]);
  return [...lines, back];
}

export function createBatchBars(commands: BatchCommands): BatchBars {
  const gauges = { throughput: createGauge('throughput'), memory: createGauge('memory') };
  const told = element('span', { class: 'told', attributes: { 'aria-live': 'polite' } });
  const hint = element('span', { class: 'dim hint', text: 'drag a handle to another batch size' });
  const actions = element('div', { class: 'actions' });
  const known = element('div', { class: 'dim known' });
  const heading = element('h2', {}, 'Batch size', told, hint);
  const bars = element('div', { class: 'gauges' }, gauges.throughput.root, gauges.memory.root);
  const root = element(
    'section',
    { class: 'batch', attributes: { 'aria-label': 'batch size', hidden: '' } },
    heading,
    bars,
    actions,
    known,
  );
  let model: BatchModel | undefined;
  let drag: DragState = { value: 0 };

  function draw(): void {
    if (model === undefined) return;
    for (const gauge of GAUGES) gauges[gauge].drawSize(model, drag.value);
    told.textContent = sizeWords(model, drag.value);
    told.classList.toggle('error', !fits(model, drag.value));
  }

  // Whether the event was taken.
  function handled(event: DragInput): boolean {
    if (model === undefined) return false;
    const [next, effects] = dragStep(drag, event, model);
    drag = next;
    return carriedOut(effects, { root, show: draw, choose: commands.choose });
  }

  for (const gauge of GAUGES) {
    const { track, handle: grip } = gauges[gauge];
    listen({ name: gauge, tracks: [track], handle: grip, handled });
  }

  function renderBars(sizes: BatchSizes, now: BatchModel, { chosen, said }: Batch): void {
    model = now;
    const size = clampedSize(now, chosen ?? now.base.batchSize);
    if (drag.drag === undefined) drag = { value: size };
    for (const gauge of GAUGES) gauges[gauge].drawModel(now);
    draw();
    const words = said === undefined ? [] : [element('span', { class: 'outcome', text: said, attributes: { role: 'status' } })];
    refill(actions, ...(chosen === undefined ? [] : offer(sizes, now, size, commands)), ...words);
    known.textContent = knownWords(now, sizes);
    known.title = known.textContent;
  }

  function render(batch: Batch, failure: string | undefined): void {
    const { answer: sizes, said } = batch;
    const now = sizes === undefined ? undefined : modelOf(sizes);
    root.hidden = failure === undefined && now === undefined && sizes?.batchSize === undefined;
    for (const part of [told, hint, bars, known]) part.hidden = now === undefined;
    if (sizes !== undefined && now !== undefined) return renderBars(sizes, now, batch);
    model = undefined;
    if (failure !== undefined) refill(actions, element('span', { class: 'dim', text: failure }));
    else if (sizes !== undefined) refill(actions, ...invitation(sizes, said, commands));
  }

  return { root, render };
}
