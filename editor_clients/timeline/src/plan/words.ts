// What the page says of a choice of blocks to checkpoint. Pure.
import { bytes, fileName, time } from '../base/format';
import type { Checkpoints, Outcome, PlanPoint } from '../server/what_if_messages';
import { choiceAt, type PlanModel } from './model';

const MOST_NAMES = 8; // of blocks; all of them stand in the tip
const BUDGET_ROOM = 1.002; // times the peak: a choice whose sum is a little more than its replay fits, too

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')));
const nameOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

function listed(names: readonly string[]): string {
  const shown = names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

// "blocks 0 and 2 of transformer.h", "encoder.a and decoder.b", "all 6 blocks"
export function blocksWords(blocks: readonly string[], all: number): string {
  if (blocks.length === all && all > 1) return `all ${all} blocks`;
  const parent = parentOf(blocks[0] ?? '');
  const numbered = blocks.every((path) => parentOf(path) === parent && /^\d+$/.test(nameOf(path)));
  if (!numbered) return listed(blocks);
  return `block${blocks.length === 1 ? '' : 's'} ${listed(blocks.map(nameOf))}${parent === '' ? '' : ` of ${parent}`}`;
}

// "84.0 MB → 60.0 MB (−24.0 MB) for ≈ +13 % (+11…+15): checkpoint blocks 0 and 2"
export function choiceWords({ base }: PlanModel, point: PlanPoint, all: number): string {
  if (point.blocks.length === 0) return `${bytes(base.peak)}: as it is`;
  const saved = `${bytes(base.peak)} → ${bytes(point.peak)} (−${bytes(base.peak - point.peak)})`;
  return `${saved} for ${point.change ?? time(point.step)}: checkpoint ${blocksWords(point.blocks, all)}`;
}

// "within 70.0 MB: 84.0 MB → …"
export function budgetWords(model: PlanModel, budget: number, all: number): string {
  const point = choiceAt(model, budget);
  const words = choiceWords(model, point, all);
  return budget === point.peak || budget >= model.most ? words : `within ${bytes(budget)}: ${words}`;
}

// What makes the choice in a terminal.
export const applyCommand = (command: string, { peak }: PlanPoint): string =>
  `${command} --budget ${Math.ceil((peak * BUDGET_ROOM) / 1000)}kB --apply`;

// "predicted: 5 choices of 6 blocks · verified +12.8 % ± 1.1 %, 6 pairs"
export function planKnownWords({ points }: PlanModel, { blocks, note }: Checkpoints, outcome: Outcome | undefined): string {
  const count = points.length - 1;
  const predicted = `predicted: ${count} choice${count === 1 ? '' : 's'} of ${blocks} blocks`;
  const verified = outcome?.verified === undefined ? [] : [`checkpoint: verified ${outcome.verified.words}`];
  return [predicted, ...verified, ...(note === undefined ? [] : [note])].join(' · ');
}

export const planPlaceWords = ({ file, line }: Checkpoints): string | undefined =>
  file === undefined || line === undefined ? undefined : `${fileName(file)}:${line + 1}`;
