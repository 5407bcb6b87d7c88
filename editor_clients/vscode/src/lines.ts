// The lines that the server asks to highlight (hotlens/timeline/highlight). Nothing here imports vscode: tested in plain Node.

export interface HighlightedLines {
  readonly uri: string;
  readonly line: number; // 0-based, both within
  readonly endLine: number;
}

const isLine = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;

function isHighlighted(value: unknown): value is HighlightedLines {
  if (typeof value !== 'object' || value === null) return false;
  const { uri, line, endLine } = value as Record<string, unknown>;
  return typeof uri === 'string' && isLine(line) && isLine(endLine) && line <= endLine;
}

// What cannot be read is left out.
export function readHighlighted(params: unknown): HighlightedLines[] {
  if (typeof params !== 'object' || params === null || !('lines' in params) || !Array.isArray(params.lines)) return [];
  return (params.lines as unknown[]).filter(isHighlighted);
}
