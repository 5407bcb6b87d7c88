// The strip of all steps: height is wall time, the line is the median, outliers stand out and say what was different.
import { button, element } from '../base/dom';
import { exact, signedTime, spoken, time } from '../base/format';
import { LEGEND, stageColour, isHatched, type Theme } from '../base/palette';
import type { Level } from '../server/level_messages';
import type { Overview, StepSummary } from '../server/messages';
import type { InState, InView, SomeView } from '../state/in_state';
import type { Dispatch } from '../state/state';

const HEADROOM = 1.15; // above the highest bar; an extreme outlier does not flatten the others
const MOST_OVER_MEDIAN = 3;
const LABELLED_STEPS = 10; // more steps are too narrow for their times
const LOW_MEDIAN = 0.5; // of the strip: a lower median would cross the times, which then stand above it

// The height that stands for a bar's whole strip, in ns.
export const stripTop = (overview: Overview): number => {
  const highest = Math.max(1, ...overview.steps.map(({ wall }) => wall));
  return HEADROOM * (overview.median > 0 ? Math.min(highest, MOST_OVER_MEDIAN * overview.median) : highest);
};

const share = (ns: number, top: number): string => `${Math.min(100, (ns / top) * 100).toFixed(1)}%`;

// "bucket data_loading", "module layer_1.0" as a person says it.
export function difference({ what, excess }: StepSummary['differences'][number]): string {
  const name = what.replace(/^(bucket|module) /, '');
  return `${signedTime(excess)} in ${what.startsWith('module ') ? name : spoken(name)}`;
}

const differences = (step: StepSummary): string => step.differences.map(difference).join(', ');

type Shown = InState<'overview'> & InView<'step' | 'beforeStep'>;

// What of a bar says which step is shown, and which one it is compared with.
function mark(made: HTMLElement, step: StepSummary, position: number, view: SomeView<'step' | 'beforeStep'>): void {
  const shown = position === view.step;
  const before = position === view.beforeStep;
  const outlier = step.outlier ? `, an outlier${step.differences.length > 0 ? `: ${differences(step)}` : ''}` : '';
  const label = `step ${step.index}: ${time(step.wall)}${outlier}`;
  made.className = `step${shown ? ' shown' : ''}${before ? ' before' : ''}${step.outlier ? ' outlier' : ''}`;
  made.title = `${label}\n${exact(step.wall)}, device busy ${time(step.device)} meanwhile${shown ? '' : '\nShift and click: against the step that is shown'}`;
  made.setAttribute('aria-label', before ? `${label}, the one that is compared with` : label);
  made.setAttribute('aria-pressed', String(shown));
}

function bar(step: StepSummary, position: number, { overview, view }: Shown, top: number, dispatch: Dispatch): HTMLElement {
  const press = (event: MouseEvent): void => {
    const shown = made.classList.contains('shown'); // another one may be by now
    dispatch(event.shiftKey && !shown ? { type: 'compare', step: position } : { type: 'show step', step: position });
  };
  const text = (overview?.steps.length ?? 0) <= LABELLED_STEPS ? `${step.index} · ${time(step.wall)}` : '';
  const made = element(
    'button',
    { attributes: { type: 'button' }, on: { click: press } },
    element('span', { class: 'bar', style: { height: share(step.wall, top) } }),
    element('span', { class: 'text', text }),
  );
  mark(made, step, position, view);
  return made;
}

// Its position; -1 where there is none.
export function farthestOutlier({ steps, median }: Pick<Overview, 'steps' | 'median'>): number {
  const distance = ({ wall, outlier }: StepSummary): number => (outlier ? Math.abs(wall - median) : -1);
  return steps.reduce((best, step, position) => (distance(step) > (best < 0 ? -1 : distance(steps[best]!)) ? position : best), -1);
}

function words(overview: Overview, dispatch: Dispatch): HTMLElement {
  const line = element('span', { class: 'dim words' });
  const position = farthestOutlier(overview);
  const outlier = overview.steps[position];
  if (outlier !== undefined) {
    const count = overview.steps.filter((step) => step.outlier).length;
    const kind = count === 1 ? 'is an outlier' : `stands out most of ${count} outliers`;
    const [most] = outlier.differences;
    const what = most === undefined ? '' : `: ${difference(most)}`;
    line.append(
      button(`step ${outlier.index} ${kind}`, differences(outlier), () => dispatch({ type: 'show step', step: position })),
      `${what} · `,
    );
  }
  if (overview.steps.length > 1) line.append(`median ${time(overview.median)}, most ${time(overview.p10)} to ${time(overview.p90)}`);
  line.title = `${line.textContent}\nmost: from the 10th to the 90th percentile`; // what the strip has no room for
  return line;
}

// The stages that occur, each with its colour, in the order of a step.
export function stagesShown(overview: Overview | undefined, levels: readonly (Level | undefined)[]): readonly string[] {
  const seen = new Set<string>();
  for (const { stage } of overview?.stages ?? []) seen.add(stage);
  for (const level of levels) {
    for (const { kind, blocks, waits } of level?.tracks ?? []) {
      if (kind === 'communication') seen.add('communication');
      for (const stage of blocks.stages) seen.add(stage);
      if (blocks.kinds.includes('idle')) seen.add('idle');
      if (blocks.kinds.includes('wait') || waits !== undefined) seen.add('waiting');
    }
  }
  return LEGEND.filter((stage) => seen.has(stage));
}

const WORDS: Readonly<Record<string, string>> = { earlier_step: 'of an earlier step', idle: 'idle' };

export function renderLegend(stages: readonly string[], theme: Theme): HTMLElement[] {
  return stages.map((stage) =>
    element(
      'span',
      { class: 'key' },
      element('i', {
        class: `swatch${isHatched(stage) ? ' hatched' : ''}${stage === 'idle' ? ' idle' : ''}`,
        style: { '--colour': stageColour(stage, theme) },
      }),
      WORDS[stage] ?? spoken(stage),
    ),
  );
}

export function renderSteps(state: Shown, dispatch: Dispatch): HTMLElement[] {
  const { overview } = state;
  if (overview === undefined) return [element('div', { class: 'skeleton' })];
  const top = stripTop(overview);
  const median = element('span', { class: 'median', style: { bottom: share(overview.median, top) } });
  const bars = overview.steps.map((step, position) => bar(step, position, state, top, dispatch));
  return [
    button(
      overview.steps.length === 1 ? 'step' : 'steps',
      'the whole recording: all steps on one axis (o)',
      () => dispatch({ type: 'show recording' }),
      'link all',
    ),
    element(
      'div',
      { class: `bars${overview.median < LOW_MEDIAN * top ? ' low' : ''}`, attributes: { role: 'group', 'aria-label': 'steps' } },
      ...bars,
      ...(overview.steps.length > 1 ? [median] : []),
    ),
    words(overview, dispatch),
  ];
}

// Another step is shown or compared with: of thousands of bars a few change, and the one that was pressed keeps the focus.
export function markSteps(strip: HTMLElement, state: Shown, before: Shown): void {
  const bars = strip.querySelector('.bars')?.children;
  for (const position of new Set([before.view, state.view].flatMap(({ step, beforeStep }) => [step, beforeStep]))) {
    const [step, made] = [state.overview?.steps[position ?? -1], bars?.[position ?? -1]];
    if (step !== undefined && made instanceof HTMLElement) mark(made, step, position!, state.view);
  }
}
