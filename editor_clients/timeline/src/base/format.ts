// Numbers as people read them: three significant digits, the unit by size. The full value stands in the tip.

const TIMES: readonly (readonly [unit: string, ns: number])[] = [
  ['s', 1e9],
  ['ms', 1e6],
  ['µs', 1e3],
  ['ns', 1],
];
const SIZES: readonly (readonly [unit: string, bytes: number])[] = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
  ['B', 1],
];

// Three significant digits, zeros kept, never an exponent: 1.00, 41.6, 999, 1234.
function digits(value: number): string {
  return Math.abs(Number(value.toPrecision(3))) >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}

function scaled(value: number, units: readonly (readonly [string, number])[]): string {
  const [unit, size] = units.find(([, each]) => Number((Math.abs(value) / each).toPrecision(3)) >= 1) ?? units[units.length - 1]!;
  return `${size === 1 ? Math.round(value) : digits(value / size)} ${unit}`;
}

export const time = (ns: number): string => (ns === 0 ? '0' : scaled(ns, TIMES));
export const bytes = (count: number): string => (count === 0 ? '0' : scaled(count, SIZES));
export const signedTime = (ns: number): string => `${ns < 0 ? '−' : '+'}${time(Math.abs(ns))}`;

const TENS = ['', 'k', 'M', 'G', 'T', 'P'];

// "4.68 TFLOP/s": an amount a second.
export function rate(value: number, unit: string): string {
  const step = value < 1 ? 0 : Math.min(TENS.length - 1, Math.floor(Math.log10(Number(value.toPrecision(3))) / 3));
  return `${digits(value / 1000 ** step)} ${TENS[step]}${unit}`;
}

// 12345678 → "12 345 678 ns", for tips.
export const exact = (ns: number): string =>
  `${Math.round(ns)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, '\u202f')} ns`;

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return '<0.1 %';
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

// A part of the step's wall time. The device may be busy for longer than the host takes: nobody believes 103 %.
export const ofStep = (share: number): string => (share > 1.005 ? `as long as ${digits(share)} steps` : `${percent(share)} of the step`);

// The numbers of an axis share one unit, told once, and as many decimals as tell neighbouring ticks apart.
export interface AxisUnit {
  readonly unit: string;
  readonly text: (ns: number) => string;
}

export function axisUnit(greatest: number, step: number): AxisUnit {
  const [unit, size] = TIMES.find(([, each]) => greatest >= each) ?? TIMES[TIMES.length - 1]!;
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / size) + 1e-9)));
  return { unit, text: (ns) => (ns / size).toFixed(decimals) };
}

// "2026-11-22T00:43:04Z" as a person reads it.
export const dateOf = (created: string | number | undefined): string =>
  created === undefined ? '' : String(created).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*$/, '$1 $2');

interface Made {
  readonly source: string;
  readonly created?: string | number;
}

// What two profiles are called beside each other: by their files; where those are the same, also by when they were made, to the second if need be.
export function toldApart(one: Made, other: Made): readonly [string, string] {
  const both = [one, other];
  const [names, dates] = [both.map(({ source }) => fileName(source)), both.map(({ created }) => dateOf(created))];
  if (names[0] !== names[1]) return [names[0]!, names[1]!];
  const exact = both.map(({ created }) => String(created ?? '').replace(/^(\d{4}-\d\d-\d\d)T([\d:]{8}).*$/, '$1 $2'));
  const told = dates[0] === dates[1] ? exact : dates;
  return [0, 1].map((at) => `${names[at]} ${told[at]}`.trim()) as [string, string];
}

export const spoken = (stage: string): string => stage.replaceAll('_', ' ');

// A name that turns the direction of writing would turn what stands beside it as well.
export const upright = (text: string): string => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

// The last part of a path, of either kind of separator.
// "/home/me/train.py:41" as "train.py:41"; the path of a module as it is.
export const placeName = (where: string): string => (isLine(where) ? fileName(where) : where);
export const isLine = (where: string): boolean => /:\d+$/.test(where);

export const fileName = (path: string): string => path.split(/[\\/]/).at(-1) || path;
