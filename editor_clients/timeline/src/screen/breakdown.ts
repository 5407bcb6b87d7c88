// Time and memory over the same tree of modules, as two icicles: the rows of one module, and below each its own rows. A click drills down in
// both; the line of a row is one click further.
import { button, element } from '../base/dom';
import { bytes, percent, spoken, time } from '../base/format';
import { blend, parseColour, stageColour, textOn, type Colours } from '../base/palette';
import { pointsAt } from '../commands/point';
import type { Reveal } from '../commands/reveal';
import type { PeakMoment } from '../server/messages';
import type { Breakdown, BreakdownRow, Metric } from '../server/table_messages';
import { isRecording } from '../state/address';
import type { InState, InView } from '../state/in_state';
import { breakdownKey, type Dispatch, type Drill } from '../state/state';
import { METRICS } from '../store/needs';

const NARROW = 0.004; // of the bar: narrower rows are drawn together as the rest
const MOST_PATH = 28; // characters of a module's path: its end tells it from its like
const LABELLED = 0.035; // of the bar: narrower rows carry no text

export interface Slice {
  readonly row: BreakdownRow | undefined; // undefined: the rows too narrow to draw
  readonly left: number; // share of the bar
  readonly width: number;
}

// Rows side by side, exact to their share of `whole`; those too narrow end as one slice.
export function layoutSlices(rows: readonly BreakdownRow[], whole: number, left: number, width: number): Slice[] {
  if (whole <= 0) return [];
  const slices: Slice[] = [];
  let at = left;
  let rest = 0;
  for (const row of rows) {
    const share = (Math.max(0, row.value) / whole) * width;
    if (share < NARROW) {
      rest += share;
      continue;
    }
    slices.push({ row, left: at, width: share });
    at += share;
  }
  if (rest > 0) slices.push({ row: undefined, left: at, width: rest });
  return slices;
}

const text = (metric: Metric, value: number): string => (metric === 'time' ? time(value) : bytes(value));

// What most of a row is made of gives its colour.
export const mainPart = (row: BreakdownRow): string =>
  row.parts.length === 0 ? row.kind : row.parts.reduce((best, each) => (each.value > best.value ? each : best)).what;

const partName = (metric: Metric, what: string): string => (metric === 'memory' && what === 'optimizer' ? 'optimizer state' : spoken(what));

// What the rows of a metric add up to.
const wholeOf = (metric: Metric): string => (metric === 'time' ? 'the step' : 'the memory of the step');

export function tipOf(row: BreakdownRow, metric: Metric, total: number): string {
  const share = total > 0 ? `, ${percent(row.value / total)} of ${wholeOf(metric)}` : '';
  const parts = row.parts.filter(({ value }) => value > 0).map((part) => `${partName(metric, part.what)} ${text(metric, part.value)}`);
  const place = row.file === undefined ? [] : [`${row.file}:${(row.line ?? 0) + 1}`];
  return [`${row.label}${row.class === undefined ? '' : ` (${row.class})`}: ${text(metric, row.value)}${share}`, ...parts, ...place].join(
    '\n',
  );
}

interface Look {
  readonly metric: Metric;
  readonly total: number;
  readonly colours: Colours;
}

function slice({ row, left, width }: Slice, look: Look, press: (row: BreakdownRow) => void): HTMLElement {
  const place = { left: `${(left * 100).toFixed(3)}%`, width: `${(width * 100).toFixed(3)}%` };
  if (row === undefined) return element('span', { class: 'slice rest', title: 'smaller rows', style: place });
  const colour = stageColour(mainPart(row), look.colours.theme);
  const ground = parseColour(look.colours.ground) ?? [30, 30, 30];
  const ink = textOn(blend(parseColour(colour)!, ground, 1));
  const words = width < LABELLED ? '' : `${row.label}  ${text(look.metric, row.value)}`;
  const tip = tipOf(row, look.metric, look.total);
  const properties = { class: 'slice', text: words, title: tip, style: { ...place, '--colour': colour, '--ink': ink } };
  const { path, file, line } = row;
  const target = { ...(path === undefined ? {} : { path }), ...(file === undefined ? {} : { place: { file, line: line ?? 0 } }) };
  return pointsAt(
    element('button', { ...properties, attributes: { type: 'button', 'aria-label': tip }, on: { click: () => press(row) } }),
    target,
  );
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

type Rows = InState<'breakdowns' | 'drill'>;

function bars(top: Breakdown, look: Look, state: Rows, dispatch: Dispatch, reveal: Reveal): HTMLElement[] {
  const whole = sumOf(top.rows.map(({ value }) => Math.max(0, value)));
  const press = (row: BreakdownRow): void => {
    if (row.children > 0 && row.module !== undefined)
      dispatch({ type: 'drill', drill: [...state.drill, { label: row.label, module: row.module }] });
    if (row.path !== undefined) dispatch({ type: 'go', path: row.path });
    else if (row.file !== undefined) reveal({ file: row.file, line: row.line ?? 0 });
  };
  const upper = layoutSlices(top.rows, whole, 0, 1);
  const lower = upper.flatMap(({ row, left, width }) => {
    const inner = row?.module === undefined ? undefined : state.breakdowns[breakdownKey(look.metric, row.module)];
    if (inner === undefined || row === undefined) return [];
    return layoutSlices(inner.rows, Math.max(row.value, sumOf(inner.rows.map(({ value }) => value))), left, width);
  });
  const draw = (slices: readonly Slice[]): HTMLElement =>
    element('div', { class: 'slices' }, ...slices.map((each) => slice(each, look, press)));
  return [draw(upper), draw(lower)];
}

type Titled = InState<'overview' | 'drill'> & InView<'step'>;

// Beside the whole recording it is of the usual step.
function timeTitle({ rows }: Breakdown, { view, overview }: Titled): string {
  const of = isRecording(view) ? ` in step ${overview?.steps[overview.representative]?.index ?? ''}` : '';
  return (rows.some(({ kind }) => kind === 'module') ? 'Time by module' : 'Time by stage') + of;
}

// "in backward of layer2.0.conv1", a step's own time beside it where that is known.
export function peakWords({ stage, module, time: at }: PeakMoment): string {
  const name = module !== undefined && module.length > MOST_PATH ? `…${module.slice(-MOST_PATH)}` : module;
  const where = name === undefined || name === '' ? '' : ` of ${name}`;
  return `in ${spoken(stage)}${where}${at === undefined ? '' : `, ${time(at)} after the step began`}`;
}

function memoryTitle({ total }: Breakdown, { overview, drill }: Titled): string {
  const { memoryPeak: peak, memoryCapacity: capacity } = overview ?? {};
  if (peak === undefined) return `Memory between steps — ${bytes(total)}`;
  const of = capacity === undefined || drill.length > 0 ? '' : ` of ${bytes(capacity)}`; // of an opened row the crumbs say the name
  return `Memory at the peak — ${bytes(total)}${of}`;
}

// What the rows are made of, all of them together, most first.
export function partsOf(rows: readonly BreakdownRow[]): { what: string; value: number }[] {
  const sums = new Map<string, number>();
  for (const { what, value } of rows.flatMap(({ parts }) => parts)) sums.set(what, (sums.get(what) ?? 0) + value);
  return [...sums]
    .map(([what, value]) => ({ what, value }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value);
}

// The parts of memory have colours of their own: what each stands for, and how much of it there is.
function memoryLegend({ rows }: Breakdown, colours: Colours): HTMLElement {
  const key = ({ what, value }: { what: string; value: number }): HTMLElement =>
    element(
      'span',
      { class: 'key' },
      element('i', { class: 'swatch', style: { '--colour': stageColour(what, colours.theme) } }),
      `${partName('memory', what)} ${bytes(value)}`,
    );
  return element('div', { class: 'legend', attributes: { 'aria-label': 'parts of memory' } }, ...partsOf(rows).map(key));
}

const title = (metric: Metric, breakdown: Breakdown, state: Titled): string =>
  metric === 'time' ? `${timeTitle(breakdown, state)} — ${time(breakdown.total)}` : memoryTitle(breakdown, state);

// When the peak is: it leads to the module that ran then.
function peakMoment(at: PeakMoment | undefined, dispatch: Dispatch): HTMLElement[] {
  if (at === undefined) return [];
  const { path } = at;
  const text = peakWords(at);
  return [
    path === undefined
      ? element('span', { class: 'dim', text })
      : button(text, `${at.module ?? ''}\nshow what ran when most memory was held`, () => dispatch({ type: 'go', path })),
  ];
}

function crumbs(drill: readonly Drill[], dispatch: Dispatch): HTMLElement[] {
  if (drill.length === 0) return [];
  const steps = [{ label: 'all' }, ...drill];
  return [
    element(
      'nav',
      { class: 'crumbs', attributes: { 'aria-label': 'opened rows' } },
      ...steps.map(({ label }, depth) =>
        button(label, "show this row's parts", () => dispatch({ type: 'drill', drill: drill.slice(0, depth) })),
      ),
    ),
  ];
}

type Charted = Rows & Titled & InState<'failures'>;

function chart(metric: Metric, state: Charted, colours: Colours, dispatch: Dispatch, reveal: Reveal): HTMLElement {
  const key = breakdownKey(metric, state.drill.at(-1)?.module);
  const breakdown = state.breakdowns[key];
  const failure = state.failures[`breakdown ${key}`];
  const known = breakdown !== undefined && breakdown.rows.length > 0;
  const total = breakdown?.total ?? 0;
  const heading = element(
    'h2',
    {},
    known ? title(metric, breakdown, state) : metric === 'time' ? 'Time by module' : 'Memory',
    ...(known && metric === 'memory' ? peakMoment(state.overview?.memoryPeakAt, dispatch) : []),
    ...crumbs(state.drill, dispatch),
  );
  if (failure !== undefined) return element('section', {}, heading, element('p', { class: 'dim', text: failure }));
  if (breakdown === undefined) return element('section', {}, heading, element('div', { class: 'skeleton' }));
  if (!known) {
    const missing =
      metric === 'memory' ? 'This profile tells nothing of memory. Record it with hotlens run.' : 'This profile has no modules.';
    return element('section', {}, heading, element('p', { class: 'dim', text: missing }));
  }
  const legend = metric === 'memory' ? [memoryLegend(breakdown, colours)] : [];
  return element('section', {}, heading, ...bars(breakdown, { metric, total, colours }, state, dispatch, reveal), ...legend);
}

export const renderBreakdown = (state: Charted, colours: Colours, dispatch: Dispatch, reveal: Reveal): HTMLElement[] =>
  METRICS.map((metric) => chart(metric, state, colours, dispatch, reveal));
