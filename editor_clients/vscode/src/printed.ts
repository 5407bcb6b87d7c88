// The texts of hotlens/output (protocol/MESSAGES.md) as a terminal takes them, and as much of them as a terminal opened later shows.
const MOST_KEPT = 1024 * 1024; // characters
const CLEAR = '\x1bc';

export class Printed {
  private kept = '';

  // What a terminal that has shown everything before has to write now.
  receive(params: unknown): string {
    const { text, begins } = (params ?? {}) as { text?: unknown; begins?: unknown };
    if (typeof text !== 'string') return '';
    const lines = text.replace(/\r?\n/g, '\r\n');
    this.kept = begins === true ? lines : fromALine(this.kept + lines);
    return begins === true ? CLEAR + lines : lines;
  }

  text(): string {
    return this.kept;
  }
}

function fromALine(text: string): string {
  if (text.length <= MOST_KEPT) return text;
  const rest = text.slice(-MOST_KEPT);
  return rest.slice(rest.indexOf('\n') + 1);
}
