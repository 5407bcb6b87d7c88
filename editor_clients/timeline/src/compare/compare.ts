// Two profiles side by side, aligned by module: what became faster, slower, new or gone, beyond the noise of the steps.
import { button, element, tableRow } from '../base/dom';
import { percent, signedTime, spoken, time, toldApart } from '../base/format';
import { pointsAt } from '../commands/point';
import type { Change, Changed, CompareRow, ComparedSide, Comparison } from '../server/table_messages';
import type { InState, InView } from '../state/in_state';
import { moduleKey, type Dispatch } from '../state/state';

export const SIGNS: Readonly<Record<Change, string>> = { faster: '▼', slower: '▲', same: '=', added: '+', removed: '−' };

// Largest change first; what stays within the noise last.
export function sorted(rows: readonly CompareRow[]): CompareRow[] {
  const weight = (row: CompareRow): number => (row.change === 'same' ? 0 : Math.abs((row.after ?? 0) - (row.before ?? 0)));
  return [...rows].sort((a, b) => weight(b) - weight(a));
}

// The root has no name but its class.
const nameOfRow = (row: CompareRow): string =>
  (row.kind === 'stage' ? spoken(row.label ?? '') : row.label) ?? (row.module?.split('.').at(-1) || row.class || 'model');

// " (+9.7 %)"
export const shareWords = (by: number, before: number): string =>
  before === 0 ? '' : ` (${by < 0 ? '−' : '+'}${percent(Math.abs(by) / before)})`;

// What is no change beyond the noise still says how much it is: the rows add up to the step.
export function changeText(row: Changed): string {
  if (row.change === 'added') return 'added';
  if (row.change === 'removed') return 'removed';
  const by = (row.after ?? 0) - (row.before ?? 0);
  if (row.change === 'same') return by === 0 ? 'same' : `${signedTime(by)}, noise`;
  return `${signedTime(by)}${shareWords(by, row.before ?? 0)}`;
}

function bar(kind: string, value: number | undefined, most: number): HTMLElement {
  const width = value === undefined || most <= 0 ? 0 : (value / most) * 100;
  return element('span', { class: `pair ${kind}`, style: { width: `${width.toFixed(2)}%` } });
}

type Rows = InState<'comparisons' | 'expanded'>;

function row(each: CompareRow, depth: number, most: number, state: Rows, dispatch: Dispatch): HTMLElement[] {
  const { module } = each;
  const open = module !== undefined && state.expanded.includes(module);
  const expands = module !== undefined && each.children > 0;
  const toggle = expands
    ? button(open ? '▾' : '▸', open ? 'hide its parts' : 'show its parts', () => dispatch({ type: 'expand', module }), 'toggle')
    : element('span', { class: 'toggle' });
  const { path } = each;
  const name =
    path === undefined
      ? element('span', { text: nameOfRow(each) })
      : button(nameOfRow(each), 'show this module in the levels', () => dispatch({ type: 'go', path }));
  const line = tableRow(
    { class: `change ${each.change}`, title: each.noise === undefined ? (module ?? '') : `${module}: noise ±${time(each.noise)}` },
    element(
      'td',
      { style: { 'padding-left': `${depth * 14}px` } },
      toggle,
      name,
      element('span', { class: 'dim', text: module === '' || each.class === undefined ? '' : ` ${each.class}` }),
    ),
    each.before === undefined ? '' : time(each.before),
    each.after === undefined ? '' : time(each.after),
    `${SIGNS[each.change] ?? ''} ${changeText(each)}`,
    element('td', { class: 'pairs' }, bar('before', each.before, most), bar('after', each.after, most)),
  );
  if (path !== undefined) pointsAt(line, { path });
  const parts = open ? sorted(state.comparisons[moduleKey(module)]?.rows ?? []) : [];
  return [line, ...parts.flatMap((part) => row(part, depth + 1, most, state, dispatch))];
}

// What all of it comes to: the first question of who compares.
function wholeStep({ step, before }: Comparison): HTMLElement[] {
  if (step.before === undefined || step.after === undefined) return [];
  const texts = ['the step', time(step.before), time(step.after), `${SIGNS[step.change] ?? ''} ${changeText(step)}`, ''];
  const of = before.step === undefined ? 'all steps, idle time included' : 'wall time';
  const title = step.noise === undefined ? of : `${of}: noise ±${time(step.noise)}`;
  return [tableRow({ class: `whole ${step.change}`, title }, ...texts)];
}

// Steps are told by the script's count.
function sides({ before, after }: Comparison, { overview }: InState<'overview'>): string {
  const stepOf = (side: ComparedSide): string => `step ${overview?.steps[side.step ?? -1]?.index ?? side.step}`;
  const [older, newer] = toldApart(before, after);
  if (before.step === undefined) return `Before: ${older} · after: ${newer} `;
  return `${stepOf(after)} (after) against ${stepOf(before)} (before) `;
}

export function renderCompare(state: Rows & InState<'overview' | 'failures'> & InView<'alone'>, dispatch: Dispatch): HTMLElement[] {
  const failure = state.failures['compare '];
  const top = state.comparisons[moduleKey()];
  const alone = state.view.alone === true;
  const drawn = button(alone ? 'both timelines' : 'one timeline', `draw ${alone ? 'both timelines' : 'the newer one alone'} (b)`, () =>
    dispatch({ type: 'alone', alone: !alone }),
  );
  const close = button('close', 'show time and memory again', () => dispatch({ type: 'compare' }));
  if (failure !== undefined) return [element('h2', {}, 'Compare', close), element('p', { class: 'error', text: failure })];
  if (top === undefined) return [element('h2', {}, 'Compare', close), element('div', { class: 'skeleton' })];
  const most = Math.max(1, ...top.rows.flatMap(({ before, after }) => [before ?? 0, after ?? 0]));
  const head = [top.before.step === undefined ? 'module' : 'what', 'before', 'after', 'change', ''].map((each) =>
    element('th', { text: each }),
  );
  return [
    element('h2', {}, element('span', { text: sides(top, state) }), drawn, close),
    element(
      'div',
      { class: 'scroll' },
      element(
        'table',
        { class: 'compare' },
        element('tr', {}, ...head),
        ...wholeStep(top),
        ...sorted(top.rows).flatMap((each) => row(each, 0, most, state, dispatch)),
      ),
    ),
  ];
}
