// The profiles of the workspace to choose from. Reading them imports nothing of vscode: tested in plain Node.

export interface Past {
  readonly id: string;
  readonly created: string;
  readonly source: string;
  readonly step?: string; // its time
  readonly commit?: string;
  readonly changed: readonly string[];
  readonly shown: boolean;
  readonly baseline: boolean;
}

function isPast(value: unknown): value is Past {
  if (typeof value !== 'object' || value === null) return false;
  const { id, created, source, step, commit, changed, shown, baseline } = value as Record<string, unknown>;
  const texts = [id, created, source, step ?? '', commit ?? ''].every((each) => typeof each === 'string');
  const flags = [shown, baseline].every((each) => typeof each === 'boolean');
  return texts && flags && Array.isArray(changed) && changed.every((each) => typeof each === 'string');
}

// The answer to hotlens/history; what cannot be read is left out.
export function readHistory(answer: unknown): Past[] {
  if (typeof answer !== 'object' || answer === null || !('profiles' in answer) || !Array.isArray(answer.profiles)) return [];
  return (answer.profiles as unknown[]).filter(isPast);
}

export interface PastRow {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly past: Past;
}

export function pastRows(profiles: readonly Past[]): PastRow[] {
  return profiles.map((past) => {
    const marks = [past.shown ? 'shown' : '', past.baseline ? 'baseline' : ''].filter((mark) => mark !== '').join(', ');
    const changed = past.changed.length === 0 ? '' : `changed: ${past.changed.join(', ')}`;
    return {
      label: `${past.created.slice(0, 16).replace('T', ' ')} UTC${past.step === undefined ? '' : `  ${past.step}/step`}`,
      description: marks,
      detail: [past.source, past.commit ?? '', changed].filter((part) => part !== '').join('  ·  '),
      past,
    };
  });
}
