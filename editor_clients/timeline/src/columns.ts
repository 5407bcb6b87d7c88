// One block out of a track's columns.
import { time } from './format';
import type { BlockColumns } from './messages';

export const labelOf = (blocks: BlockColumns, index: number): string => blocks.labels[blocks.label[index]!] ?? '';
export const kindOf = (blocks: BlockColumns, index: number): string => blocks.kinds[blocks.kind[index]!] ?? '';
export const stageOf = (blocks: BlockColumns, index: number): string => blocks.stages[blocks.stage[index]!] ?? 'other';

// A fold's name with its count, told once.
export const counted = (label: string, count: number): string => (count > 1 && !label.endsWith(`×${count}`) ? `${label} ×${count}` : label);

// What stands before most names of PyTorch's operators and says nothing that the track does not say.
const FAMILIAR = /^(?:autograd::engine::evaluate_function: )?(?:aten::|torch::autograd::)?/;

export const shortName = (name: string): string => name.replace(FAMILIAR, '') || name || '(no name)';

// From the most to the least that a block may say of itself.
export function wordings(blocks: BlockColumns, index: number): string[] {
  const kind = kindOf(blocks, index);
  const count = blocks.count[index]!;
  const folded = kind === 'fold' ? counted(labelOf(blocks, index), count) : labelOf(blocks, index);
  const name = `${blocks.direction[index] === 2 ? '↻ ' : ''}${folded}`;
  const short = shortName(name);
  const duration = time(blocks.duration[index]!);
  return short === name ? [`${name}  ${duration}`, name] : [`${name}  ${duration}`, `${short}  ${duration}`, short];
}
