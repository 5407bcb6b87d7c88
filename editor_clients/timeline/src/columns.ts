// One block out of a track's columns.
import { time } from "./format";
import type { BlockColumns } from "./messages";

export const labelOf = (blocks: BlockColumns, index: number): string => blocks.labels[blocks.label[index]!] ?? "";
export const kindOf = (blocks: BlockColumns, index: number): string => blocks.kinds[blocks.kind[index]!] ?? "";
export const stageOf = (blocks: BlockColumns, index: number): string => blocks.stages[blocks.stage[index]!] ?? "other";

// From the most to the least that a block may say of itself.
export function wordings(blocks: BlockColumns, index: number): string[] {
  const kind = kindOf(blocks, index);
  const count = blocks.count[index]!;
  const name = `${blocks.direction[index] === 2 ? "↻ " : ""}${labelOf(blocks, index)}${kind === "fold" && count > 1 ? ` ×${count}` : ""}`;
  return [`${name}  ${time(blocks.duration[index]!)}`, name];
}
