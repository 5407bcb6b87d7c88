// Which blocks to checkpoint, as a budget of memory: dragging it picks the cheapest choice within it, and says what it costs and how to make it.
import { copiedText } from '../base/clipboard';
import { button, element, refill } from '../base/dom';
import { carriedOut, listen } from '../base/slider_events';
import type { Checkpoints, PlanPoint, WhatIfs } from '../server/what_if_messages';
import type { WhatIfState } from '../state/what_if';
import type { PlanCommands } from './commands';
import { budgetStep, choiceAt, clampedBudget, planOf, type BudgetInput, type BudgetState, type PlanModel } from './model';
import { createPlanPlot } from './plot';
import { applyCommand, blocksWords, budgetWords, planKnownWords, planPlaceWords } from './words';

export interface PlanPanel {
  readonly root: HTMLElement;
  readonly render: (state: WhatIfState, failure: string | undefined) => void;
}

const dim = (text: string): HTMLElement => element('span', { class: 'dim', text });
const status = (said: string | undefined): HTMLElement[] =>
  said === undefined ? [] : [element('span', { class: 'outcome', text: said, attributes: { role: 'status' } })];

// Before anything is planned, or where nothing can be: how it is.
function invitation(known: WhatIfs, said: string | undefined, { copy, plan }: PlanCommands): HTMLElement[] {
  const { profile, checkpoints, command } = known;
  if (checkpoints?.refused !== undefined) return [dim(`${checkpoints.refused}.`)];
  if (command === undefined) return [];
  if (known.plan === 'running') return [dim('choices of blocks are being replayed; the editor shows how far it is')];
  if (known.plan === 'offered') {
    return [
      button('Plan what to checkpoint', 'replays the step with one choice of blocks after the other', () => plan(profile), 'action'),
      ...status(said),
    ];
  }
  return [dim('which blocks to checkpoint is planned in a terminal:'), copiedText(command, copy), ...status(said)];
}

function setButton(
  { profile, checkpoints }: WhatIfs,
  { blocks }: PlanPoint,
  place: string | undefined,
  { set }: PlanCommands,
): HTMLElement {
  const words = `Checkpoint ${blocksWords(blocks, checkpoints!.blocks)}${place === undefined ? '' : ` in ${place}`}`;
  return button(words, `edits the script, as one step that undo takes back\n${blocks.join(', ')}`, () => set(profile, blocks), 'action');
}

function offer(known: WhatIfs, model: PlanModel, budget: number, commands: PlanCommands): HTMLElement[] {
  const point = choiceAt(model, budget);
  const place = planPlaceWords(known.checkpoints!);
  const back = button('back to no checkpoint', 'the unchanged step (Escape)', () => commands.choose(undefined));
  if (known.command === undefined || point === model.base) return [back];
  if (known.edits) return [setButton(known, point, place, commands), back];
  const where = dim(`edits the script${place === undefined ? '' : ` at ${place}`}:`);
  return [where, copiedText(applyCommand(known.command, point), commands.copy), back];
}

export function createPlanPanel(commands: PlanCommands): PlanPanel {
  const plot = createPlanPlot();
  const told = element('span', { class: 'told', attributes: { 'aria-live': 'polite' } });
  const hint = element('span', { class: 'dim hint', text: 'less memory for more time: drag the budget' });
  const actions = element('div', { class: 'actions' });
  const known = element('div', { class: 'dim known' });
  const root = element(
    'section',
    { class: 'plan', attributes: { 'aria-label': 'recompute', hidden: '' } },
    element('h2', {}, 'Recompute', told, hint),
    plot.root,
    actions,
    known,
  );
  let shown: { readonly model: PlanModel; readonly blocks: number } | undefined;
  let drag: BudgetState = { value: 0 };

  function draw(): void {
    if (shown === undefined) return;
    plot.drawBudget(shown.model, drag.value, shown.blocks);
    told.textContent = budgetWords(shown.model, drag.value, shown.blocks);
  }

  // Whether the event was taken.
  function handled(event: BudgetInput): boolean {
    if (shown === undefined) return false;
    const [next, effects] = budgetStep(drag, event, shown.model);
    drag = next;
    return carriedOut(effects, { root, show: draw, choose: commands.choose });
  }
  listen({ name: 'budget', tracks: [plot.plot, plot.track], handle: plot.handle, handled });

  function renderPlan(answer: WhatIfs, checkpoints: Checkpoints, model: PlanModel, { chosen, said }: WhatIfState): void {
    shown = { model, blocks: checkpoints.blocks };
    const budget = clampedBudget(model, chosen ?? model.most);
    if (drag.drag === undefined) drag = { value: budget };
    plot.drawModel(model, checkpoints.blocks);
    draw();
    refill(actions, ...(chosen === undefined ? [] : offer(answer, model, budget, commands)), ...status(said));
    const outcome = answer.outcomes.find(({ kind }) => kind === 'checkpoint');
    known.textContent = planKnownWords(model, checkpoints, outcome);
    known.title = (outcome?.assumes ?? []).map((condition) => `if ${condition}`).join('\n');
  }

  function render(state: WhatIfState, failure: string | undefined): void {
    const { answer, said } = state;
    const model = answer?.checkpoints === undefined ? undefined : planOf(answer.checkpoints);
    const words = answer === undefined || model !== undefined ? [] : invitation(answer, said, commands);
    root.hidden = failure === undefined && model === undefined && words.length === 0;
    for (const part of [told, hint, plot.root, known]) part.hidden = model === undefined;
    if (answer?.checkpoints !== undefined && model !== undefined) return renderPlan(answer, answer.checkpoints, model, state);
    shown = undefined;
    refill(actions, ...(failure === undefined ? words : [dim(failure)]));
  }

  return { root, render };
}
