// The answers of hotlens.server.calls and hotlens.server.describe. Nothing here imports vscode: tested in plain Node.

interface Point {
  readonly line: number;
  readonly character: number;
}

export interface Place {
  readonly uri: string;
  readonly range: { readonly start: Point; readonly end: Point };
}

export function readPlaces(answer: unknown): { places: readonly Place[]; message?: string } {
  if (typeof answer !== 'object' || answer === null || !('places' in answer) || !Array.isArray(answer.places)) return { places: [] };
  return { places: answer.places.filter(isPlace), ...messageOf(answer) };
}

export function readDescribed(answer: unknown): { markdown?: string; message?: string } {
  if (typeof answer !== 'object' || answer === null) return {};
  const { markdown } = answer as { markdown?: unknown };
  return { ...(typeof markdown === 'string' ? { markdown } : {}), ...messageOf(answer) };
}

function messageOf(answer: object): { message?: string } {
  return 'message' in answer && typeof answer.message === 'string' ? { message: answer.message } : {};
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null) return false;
  const { uri, range } = value as { uri?: unknown; range?: { start?: unknown; end?: unknown } | null };
  return typeof uri === 'string' && typeof range === 'object' && range !== null && isPoint(range.start) && isPoint(range.end);
}

function isPoint(value: unknown): value is Point {
  if (typeof value !== 'object' || value === null) return false;
  const { line, character } = value as { line?: unknown; character?: unknown };
  return typeof line === 'number' && typeof character === 'number';
}
