import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blend, contrast, LEGEND, parseColour, stageColour, textOn, themeOf, type Rgb, type Theme } from '../base/palette';

// Machado, Oliveira, Fernandes 2009, severity 1: how each kind of colour vision sees linear RGB.
const VISIONS: Readonly<Record<string, readonly (readonly number[])[]>> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const linear = (c: number): number => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);

// CIE L*a*b*, D65.
function lab(colour: Rgb, vision: readonly (readonly number[])[]): number[] {
  const rgb = colour.map(linear);
  const [r, g, b] = vision.map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, each, i) => sum + each * rgb[i]!, 0),
      ),
    ),
  ) as [number, number, number];
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: Rgb, b: Rgb, vision: readonly (readonly number[])[]): number => {
  const other = lab(b, vision);
  return Math.hypot(...lab(a, vision).map((value, i) => value - other[i]!));
};

const colour = (stage: string, theme: Theme): Rgb => parseColour(stageColour(stage, theme))!;

// Stages that follow one another in a step, or lie above one another on host and device.
const NEIGHBOURS = [
  ['data', 'forward'],
  ['data', 'copy'],
  ['data', 'zero_grad'],
  ['zero_grad', 'forward'],
  ['forward', 'loss'],
  ['loss', 'backward'],
  ['forward', 'backward'],
  ['backward', 'optimizer'],
  ['forward', 'optimizer'],
  ['backward', 'communication'],
  ['optimizer', 'data'],
  ['forward', 'communication'],
  ['copy', 'forward'],
  ['optimizer', 'waiting'],
  ['backward', 'waiting'],
  ['forward', 'waiting'],
] as const;

for (const theme of ['dark', 'light'] as const) {
  for (const [vision, matrix] of Object.entries(VISIONS)) {
    test(`neighbouring stages differ in ${theme} colours, ${vision} of colour vision`, () => {
      for (const [a, b] of NEIGHBOURS) {
        const apart = distance(colour(a, theme), colour(b, theme), matrix);
        assert.ok(apart >= 11, `${a} and ${b}: ${apart.toFixed(1)}`);
      }
    });
  }
}

test('text on every colour, also of a paler device track, has the contrast that WCAG asks of it', () => {
  for (const [theme, ground] of [
    ['dark', [30, 30, 30]],
    ['light', [255, 255, 255]],
  ] as const) {
    for (const stage of LEGEND) {
      for (const opacity of [1, 0.8]) {
        const fill = blend(colour(stage, theme), ground, opacity);
        const ratio = contrast(parseColour(textOn(fill))!, fill);
        assert.ok(ratio >= 4.5, `${stage} ${theme} ${opacity}: ${ratio.toFixed(2)}`);
      }
    }
  }
});

test('the theme is what the editor says, else what the ground is', () => {
  assert.equal(themeOf(['vscode-light'], [0, 0, 0]), 'light');
  assert.equal(themeOf(['vscode-high-contrast'], undefined), 'contrast');
  assert.equal(themeOf([], [250, 250, 250]), 'light');
  assert.equal(themeOf([], [30, 30, 30]), 'dark');
  assert.equal(themeOf([], undefined), 'dark');
});

test('colours are read as style sheets compute them', () => {
  assert.deepEqual(parseColour('rgb(30, 31, 32)'), [30, 31, 32]);
  assert.deepEqual(parseColour('rgba(30, 31, 32, 0.5)'), [30, 31, 32]);
  assert.deepEqual(parseColour('#0a0B0c'), [10, 11, 12]);
  assert.equal(parseColour('transparent'), undefined);
});
