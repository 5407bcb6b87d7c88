// The costliest lines of the workspace to choose from, each with a bar. Reading them imports nothing of vscode: tested in plain Node.

export interface HotLine {
  readonly uri: string;
  readonly position: { readonly line: number; readonly character: number };
  readonly text: string;
  readonly label: string;
  readonly share: number; // of the step, 0 to 1
}

const BAR_CELLS = 10; // of a list in the middle of the window

function isHotLine(value: unknown): value is HotLine {
  if (typeof value !== 'object' || value === null) return false;
  const { uri, position, text, label, share } = value as Record<string, unknown>;
  if (typeof position !== 'object' || position === null) return false;
  const { line, character } = position as Record<string, unknown>;
  const places = [line, character].every((each) => typeof each === 'number' && Number.isInteger(each) && each >= 0);
  return places && typeof uri === 'string' && typeof text === 'string' && typeof label === 'string' && typeof share === 'number';
}

// The answer to hotlens/hotLines; what cannot be read is left out.
export function readHotLines(answer: unknown): HotLine[] {
  if (typeof answer !== 'object' || answer === null || !('lines' in answer) || !Array.isArray(answer.lines)) return [];
  return (answer.lines as unknown[]).filter(isHotLine);
}

// Full for the costliest, at least one cell.
export function bar(share: number, most: number, length = BAR_CELLS): string {
  const cells = most > 0 ? Math.max(1, Math.round((length * share) / most)) : 0;
  return '\u2587'.repeat(cells) + '\u2581'.repeat(length - cells);
}

export interface Row {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly line: HotLine;
}

export function rows(lines: readonly HotLine[], barLength = BAR_CELLS): Row[] {
  const most = lines[0]?.share ?? 0;
  return lines.map((line) => {
    const file = decodeURIComponent(line.uri.replace(/#.*/, '').split('/').at(-1) ?? '');
    const place = file.endsWith('.ipynb') ? file : `${file}:${line.position.line + 1}`; // a line of a cell does not say which cell
    return { label: `${bar(line.share, most, barLength)} ${line.label}`, description: place, detail: line.text, line };
  });
}
