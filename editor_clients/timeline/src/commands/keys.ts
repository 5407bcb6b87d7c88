// Every action of the page has a key; this table is what the keys do and what the help shows.

export const COMMANDS = [
  { command: 'left', keys: ['ArrowLeft'], words: 'block to the left' },
  { command: 'right', keys: ['ArrowRight'], words: 'block to the right' },
  { command: 'up', keys: ['ArrowUp'], words: 'track above, then the level above' },
  { command: 'down', keys: ['ArrowDown'], words: 'track below, then the level below' },
  { command: 'home', keys: ['Home'], words: 'first block of the track' },
  { command: 'end', keys: ['End'], words: 'last block of the track' },
  { command: 'open', keys: ['Enter'], words: 'open the block below (also a double click); a block without parts shows its line' },
  { command: 'close', keys: ['Escape', 'Backspace'], words: 'close the lowest level; above the step is the recording' },
  { command: 'recording', keys: ['o'], words: 'the whole recording: all steps on one axis' },
  { command: 'code', keys: ['g'], words: 'go to the line in the editor' },
  { command: 'pin', keys: ['m'], words: "pin the selected block; its note stands in the page's address" },
  { command: 'zoom in', keys: ['+', '=', 'w'], words: 'zoom in (also the wheel)' },
  { command: 'zoom out', keys: ['-', 's'], words: 'zoom out' },
  { command: 'pan left', keys: ['a'], words: 'pan left (also drag)' },
  { command: 'pan right', keys: ['d'], words: 'pan right' },
  { command: 'zoom to block', keys: ['z'], words: 'zoom to the selected block or range' },
  { command: 'sum', keys: ['r'], words: 'add up what is seen (Shift and drag: any range of time)' },
  { command: 'fit', keys: ['f'], words: 'show the whole level again' },
  { command: 'search', keys: ['/'], words: 'search stages, modules, operators, kernels, files' },
  { command: 'next match', keys: ['n'], words: 'next match' },
  { command: 'previous match', keys: ['N'], words: 'previous match' },
  { command: 'next step', keys: [']'], words: 'next step' },
  { command: 'previous step', keys: ['['], words: 'previous step' },
  { command: 'compare steps', keys: ['c'], words: 'this step against the usual one (Shift and click on a step: against that one)' },
  { command: 'both', keys: ['b'], words: 'while comparing: both timelines, or the newer one alone' },
  { command: 'unfold', keys: ['u'], words: 'fold or unfold equal neighbours' },
  {
    command: 'threads',
    keys: ['t'],
    words: 'open or close the threads of the host (also a click on their names)',
  },
  { command: 'export picture', keys: ['e'], words: 'save the picture as SVG' },
  { command: 'export pixels', keys: ['E'], words: 'save the picture as PNG' },
  { command: 'export window', keys: ['p'], words: 'save what is seen for Perfetto' },
  { command: 'help', keys: ['?'], words: 'these keys' },
] as const;

export type Command = (typeof COMMANDS)[number]['command'];

export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
}

// Keys with Ctrl, Alt or Meta belong to the browser and the editor.
export function commandFor(press: Press): Command | undefined {
  if (press.ctrlKey || press.altKey || press.metaKey) return undefined;
  return COMMANDS.find(({ keys }) => (keys as readonly string[]).includes(press.key))?.command;
}

const NAMES: Readonly<Record<string, string>> = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓' };

export const keyNames = (keys: readonly string[]): string => keys.map((key) => NAMES[key] ?? key).join('  ');
