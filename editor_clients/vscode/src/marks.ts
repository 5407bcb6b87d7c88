// What hotlens/heat answers, and the pictures of its marks. Nothing here imports vscode: tested in plain Node.

export type Level = 1 | 2 | 3;
export const LEVELS: readonly Level[] = [1, 2, 3];

export interface Mark {
  readonly line: number;
  readonly level: Level;
  readonly share: number; // of the step, 0 to 1
}

export interface Marks {
  readonly version: number; // of the document
  readonly marks: readonly Mark[];
}

export function readMarks(answer: unknown): Marks | undefined {
  if (typeof answer !== 'object' || answer === null || !('version' in answer) || !('marks' in answer)) return undefined;
  const { version, marks } = answer;
  return typeof version === 'number' && Array.isArray(marks) ? { version, marks: marks.filter(isMark) } : undefined;
}

function isMark(value: unknown): value is Mark {
  if (typeof value !== 'object' || value === null) return false;
  const { line, level, share } = value as { line?: unknown; level?: unknown; share?: unknown };
  return Number.isInteger(line) && (line as number) >= 0 && LEVELS.some((each) => each === level) && typeof share === 'number';
}

// The height tells the level, the colour only says it again.
const HEIGHTS: Readonly<Record<Level, number>> = { 1: 4, 2: 8, 3: 14 };

// A bar that stands on the line, in a frame of the full height; 16 by 16.
export function bar(level: Level, colour: string): string {
  const height = HEIGHTS[level];
  const frame = `<rect x="5.5" y="1.5" width="5" height="13" fill="none" stroke="${colour}" stroke-opacity="0.35"/>`;
  const fill = `<rect x="5" y="${15 - height}" width="6" height="${height}" fill="${colour}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${frame}${fill}</svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
