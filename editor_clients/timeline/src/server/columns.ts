// One block out of a track's columns.
import { time } from '../base/format';
import type { BlockColumns } from './level_messages';

export const labelOf = (blocks: BlockColumns, index: number): string => blocks.labels[blocks.label[index]!] ?? '';
export const kindOf = (blocks: BlockColumns, index: number): string => blocks.kinds[blocks.kind[index]!] ?? '';
export const stageOf = (blocks: BlockColumns, index: number): string => blocks.stages[blocks.stage[index]!] ?? 'other';

// A fold's name with its count, told once.
export const counted = (label: string, count: number): string => (count > 1 && !label.endsWith(`×${count}`) ? `${label} ×${count}` : label);

// What stands before most names of PyTorch's operators and says nothing that the track does not say.
const FAMILIAR = /^(?:autograd::engine::evaluate_function: )?(?:aten::|torch::autograd::)?/;

export const shortName = (name: string): string => name.replace(FAMILIAR, '') || name || '(no name)';

const SAME = 1.005; // times: as long to three digits
const SOME_WAITING = 0.1; // of a block's time: less is not told in its label
const ALL_WAITING = 0.995;

// How long a block is busy where it is drawn; of a block that is drawn in several places, of how much.
export const busyWords = (busy: number, whole: number): string => (whole > SAME * busy ? `${time(busy)} of ${time(whole)}` : time(busy));

// Nothing where little of it is waiting, or where its name and colour say that it is.
export function waitingWords(kind: string, stage: string, waiting: number, busy: number): string {
  if (kind === 'wait' || stage === 'waiting' || waiting < SOME_WAITING * busy || waiting === 0) return '';
  return waiting >= ALL_WAITING * busy ? 'all waiting' : `${time(waiting)} waiting`;
}

// What several runs of one block add up to, where they share a label.
export interface Sums {
  readonly busy: number;
  readonly waiting: number;
}

export const sumsOf = (blocks: BlockColumns, runs: readonly number[]): Sums => ({
  busy: runs.reduce((sum, run) => sum + blocks.busy[run]!, 0),
  waiting: runs.reduce((sum, run) => sum + blocks.waiting[run]!, 0),
});

// From the most to the least that a block may say of itself.
export function wordings(blocks: BlockColumns, index: number, sums: Sums = sumsOf(blocks, [index])): string[] {
  const kind = kindOf(blocks, index);
  const count = blocks.count[index]!;
  const folded = kind === 'fold' ? counted(labelOf(blocks, index), count) : labelOf(blocks, index);
  const name = `${blocks.direction[index] === 2 ? '↻ ' : ''}${folded}`;
  const short = shortName(name);
  const busy = busyWords(sums.busy, blocks.whole[index]!);
  const waiting = waitingWords(kind, stageOf(blocks, index), sums.waiting, sums.busy);
  const told = [
    ...(waiting === '' ? [] : [`${name}  ${busy}, ${waiting}`, `${short}  ${busy}, ${waiting}`]),
    `${name}  ${busy}`,
    `${short}  ${busy}`,
  ];
  return [...new Set([...told, ...(short === name ? [] : [name]), short])];
}
