// Colours: what kind of work a block is. Chosen so that neighbours in a step stay apart for every kind of colour vision (the test simulates
// them), and never the only sign: blocks carry names, idle time and waiting are hatched. Everything else follows the editor's theme.

export type Theme = 'dark' | 'light' | 'contrast';

// One colour per stage, for dark and for light ground. In high contrast the dark ones stand inside a border.
const STAGES: Readonly<Record<string, readonly [dark: string, light: string]>> = {
  data: ['#8c9a9b', '#8f9e9f'],
  copy: ['#c2b280', '#b8a76a'],
  zero_grad: ['#5b6f94', '#4f6896'],
  forward: ['#4e9de0', '#5aa7e8'],
  loss: ['#2fc4a7', '#30bfa2'],
  backward: ['#8158c0', '#7f57c2'],
  optimizer: ['#e0a638', '#e6b04a'],
  communication: ['#e0605e', '#e5706e'],
  waiting: ['#55585c', '#c4c7ca'],
  idle: ['#55585c', '#c4c7ca'],
  earlier_step: ['#77706a', '#aaa39c'],
  other: ['#8b8b8b', '#a3a3a3'],
};

// Buckets and parts of memory are drawn with the colour of the work they belong to.
const SAME_AS: Readonly<Record<string, string>> = {
  data_loading: 'data',
  host_to_device: 'copy',
  gradient_accumulation: 'backward',
  recompute: 'backward',
  hidden_communication: 'communication',
  evaluation: 'forward',
  host: 'other',
  unattributed: 'other',
  weights: 'forward',
  parameters: 'forward',
  gradients: 'backward',
  activations: 'loss',
  workspace: 'communication',
  temporary: 'communication',
};

export const LEGEND = [
  'data',
  'copy',
  'zero_grad',
  'forward',
  'loss',
  'backward',
  'optimizer',
  'communication',
  'waiting',
  'idle',
  'earlier_step',
  'other',
];

export function stageColour(stage: string, theme: Theme): string {
  const [dark, light] = STAGES[SAME_AS[stage] ?? stage] ?? STAGES['other']!;
  return theme === 'light' ? light : dark;
}

export const isHatched = (stage: string): boolean => stage === 'idle' || stage === 'waiting' || stage === 'earlier_step';

export type Rgb = readonly [red: number, green: number, blue: number]; // 0 to 255

export function parseColour(text: string): Rgb | undefined {
  const hex = /^#([0-9a-f]{6})/i.exec(text)?.[1];
  if (hex !== undefined) return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
  const parts = /^rgba?\(([^)]*)\)/
    .exec(text)?.[1]
    ?.split(/[\s,/]+/)
    .map(Number);
  return parts !== undefined && parts.length >= 3 && parts.slice(0, 3).every(Number.isFinite)
    ? (parts.slice(0, 3) as unknown as Rgb)
    : undefined;
}

const linear = (channel: number): number => {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
};

// Relative luminance as WCAG 2 defines it.
export const luminance = ([red, green, blue]: Rgb): number => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

export const contrast = (a: Rgb, b: Rgb): number => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
};

// `over` laid on `ground` with this opacity.
export const blend = (over: Rgb, ground: Rgb, opacity: number): Rgb =>
  over.map((channel, index) => channel * opacity + ground[index]! * (1 - opacity)) as unknown as Rgb;

const INK: Rgb = [16, 18, 20];
const PAPER: Rgb = [255, 255, 255];

// Black or white, whichever reads better on this colour.
export const textOn = (fill: Rgb): string => (contrast(INK, fill) >= contrast(PAPER, fill) ? '#101214' : '#ffffff');

// What the drawing takes from the editor's theme.
export interface Colours {
  readonly theme: Theme;
  readonly ground: string;
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly accent: string;
  readonly font: string; // as CSS: "12px …"
}

// By the classes that VS Code sets on the body, else by how dark the ground is: the page may stand in any editor's theme.
export function themeOf(classes: readonly string[], ground: Rgb | undefined): Theme {
  if (classes.includes('vscode-high-contrast') || classes.includes('vscode-high-contrast-light') || classes.includes('contrast'))
    return 'contrast';
  if (classes.includes('vscode-light')) return 'light';
  if (classes.includes('vscode-dark')) return 'dark';
  return ground !== undefined && luminance(ground) > 0.4 ? 'light' : 'dark';
}

export function readColours(body: HTMLElement): Colours {
  const style = getComputedStyle(body);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const ground = value('--ground') || style.backgroundColor;
  const classes = [...body.classList, ...(matchMedia('(forced-colors: active), (prefers-contrast: more)').matches ? ['contrast'] : [])];
  return {
    theme: themeOf(classes, parseColour(style.backgroundColor)),
    ground,
    text: value('--text'),
    dim: value('--dim'),
    line: value('--line'),
    accent: value('--accent'),
    font: style.fontFamily,
  };
}
