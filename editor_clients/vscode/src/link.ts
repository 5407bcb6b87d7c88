// Which document a link in a hover means. VS Code unescapes the argument of a command's link more often than once, so that "a%20b.py" may be
// the address of "a b.py" or what became of that of "a%20b.py". Nothing here imports vscode: tested in plain Node.

const MOST_TIMES = 2;

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The first of these addresses that becomes the asked one, unescaped as often as it takes; undefined where none does.
export function addressed(asked: string, open: readonly string[]): string | undefined {
  return open.find((address) => {
    let text = address;
    for (let times = 0; times < MOST_TIMES && text !== asked; times++) text = unescaped(text);
    return text === asked;
  });
}
