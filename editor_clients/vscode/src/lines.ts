// The lines that the server asks to light (hotlens/timeline/highlight). Nothing here imports vscode: tested in plain Node.

export interface LitLines {
  readonly uri: string;
  readonly line: number; // 0-based, both within
  readonly endLine: number;
}

const isLine = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0;

function isLit(value: unknown): value is LitLines {
  if (typeof value !== "object" || value === null) return false;
  const { uri, line, endLine } = value as Record<string, unknown>;
  return typeof uri === "string" && isLine(line) && isLine(endLine) && line <= endLine;
}

// What cannot be read is left out.
export function readLit(params: unknown): LitLines[] {
  if (typeof params !== "object" || params === null || !("lines" in params) || !Array.isArray(params.lines)) return [];
  return (params.lines as unknown[]).filter(isLit);
}
