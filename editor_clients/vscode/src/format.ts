// Times as people read them, with the three significant digits that the hints have.

const UNITS: readonly [name: string, ns: number][] = [
  ['s', 1e9],
  ['ms', 1e6],
  ['µs', 1e3],
];

export function stepTime(ns: number | undefined): string | undefined {
  if (ns === undefined || !Number.isFinite(ns) || ns <= 0) return undefined;
  const [unit, size] = UNITS.find(([, each]) => Number((ns / each).toPrecision(3)) >= 1) ?? (['ns', 1] as const);
  return `${Number((ns / size).toPrecision(3)) >= 100 ? Math.round(ns / size) : (ns / size).toPrecision(3)} ${unit}`;
}
