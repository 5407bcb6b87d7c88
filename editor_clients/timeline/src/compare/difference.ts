// How the selected block differs between the two timelines: as they are drawn, and over all steps as `hotlens diff` judges it.
import { element, tableRow } from '../base/dom';
import { exact, signedTime, time } from '../base/format';
import { shortName } from '../server/columns';
import type { Details } from '../server/details_messages';
import type { Judged } from '../server/table_messages';
import { besideSide, counterpartOf, isBeside, shownSide, sideOf, type Sides } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { selectedPath } from '../state/state';
import { isAbout } from '../store/need';
import { changeText, shareWords, SIGNS } from './compare';

export type Selected = Sides & InState<'details'> & InView<'path' | 'cursor'>;

export interface Difference {
  readonly name: string;
  readonly measure: string;
  readonly before?: number; // ns, as drawn; absent on the side that has no such block
  readonly after?: number;
  readonly judged?: Judged;
  readonly ofSteps: boolean; // of two steps of one profile
}

// What both sides know of the block: time on the device where both have some, else on the host.
function measured(one: Details, other: Details | undefined): { readonly measure: string; readonly of: (details: Details) => number } {
  const onDevice = [one, other ?? one].every(({ times }) => (times.device ?? 0) > 0);
  return onDevice
    ? { measure: 'device busy', of: ({ times }) => times.device ?? 0 }
    : { measure: 'CPU total', of: ({ times }) => times.cpuTotal ?? 0 };
}

function ofWholes(state: Sides): Pick<Difference, 'name' | 'measure' | 'before' | 'after'> {
  const [before, after] = [besideSide(state), shownSide(state)].map((side) => side?.overview.steps[side.step]?.wall);
  return { name: 'the step', measure: 'wall time', ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

// Nothing while one timeline is shown, and until both sides are known.
export function differenceOf(state: Selected): Difference | undefined {
  const { view, details, beside } = state;
  const upper = view.cursor?.before !== undefined;
  const path = view.cursor === undefined ? [] : selectedPath(view);
  const [own, others] = [sideOf(state, upper), sideOf(state, !upper)];
  if (!isBeside(view) || path === undefined || own === undefined || others === undefined) return undefined;
  const counterpart = counterpartOf(state, path, upper);
  if (counterpart === undefined || details === undefined || !isAbout(details, own, path)) return undefined;
  const rest = { ofSteps: view.beforeStep !== undefined, ...(counterpart.judged === undefined ? {} : { judged: counterpart.judged }) };
  if (path.length === 0) return { ...ofWholes(state), ...rest };
  const other = counterpart.path !== undefined && isAbout(beside.details, others, counterpart.path) ? beside.details : undefined;
  if (counterpart.path !== undefined && other === undefined) return undefined;
  const { measure, of } = measured(details, other);
  const here = of(details);
  const there = other === undefined ? {} : { [upper ? 'after' : 'before']: of(other) };
  return { name: shortName(details.label), measure, [upper ? 'before' : 'after']: here, ...there, ...rest };
}

// "+1.10 ms (+9.7 %)"
function changeWords({ change, before = 0, after = 0 }: Judged): string {
  if (change === 'added' || change === 'removed') return change;
  if (after === before) return 'the same';
  return `${signedTime(after - before)}${change === 'same' ? '' : shareWords(after - before, before)}`;
}

// "+1.10 ms (+9.7 %); noise ±300 µs": a change within the noise is none.
export function judgedWords(judged: Judged): string {
  const { change, before, after, noise } = judged;
  const around = noise === undefined ? '' : `±${time(noise)}`;
  if (change === 'same' && before !== after) return `${changeWords(judged)}, within the noise${around === '' ? '' : ` of ${around}`}`;
  const told = around === '' || change === 'same' ? '' : `; noise ${around}`;
  return `${changeWords(judged)}${told}`;
}

const beyond = ({ before, after }: Judged | Difference): string =>
  before === undefined || after === undefined ? '' : `${time(after)}, before ${time(before)}, `;

// What the judgement is of, where the block as it is drawn is of one step and one direction.
function rowName({ of, plain }: Judged, ofSteps: boolean): string {
  if (ofSteps) return of === 'module' ? 'forward and backward' : 'both steps';
  if (plain === true) return 'all steps, without the profiler';
  return of === 'module' ? 'all steps, forward and backward' : 'all steps';
}

// One sentence: what the diff says where it has a row for the block, else what is drawn.
export function differenceWords(difference: Difference | undefined): string {
  if (difference === undefined) return '';
  const { name, before, after, judged, ofSteps } = difference;
  if (judged !== undefined) {
    const of = rowName(judged, ofSteps);
    return `${name}${judged.of === 'step' && ofSteps ? '' : `, ${of}`}: ${beyond(judged)}${judgedWords(judged)}`;
  }
  if (before === undefined) return `${name}: before there is no such block`;
  if (after === undefined) return `${name}: after there is no such block`;
  return `${name}: ${beyond(difference)}${after === before ? 'the same' : signedTime(after - before)} in these steps`;
}

// The same for little room.
export function shortDifference(difference: Difference | undefined): string {
  const { before, after, judged } = difference ?? {};
  if (difference === undefined) return '';
  if (judged !== undefined) return `${changeWords(judged)}${judged.change === 'same' && judged.before !== judged.after ? ', noise' : ''}`;
  if (before === undefined || after === undefined) return differenceWords(difference);
  return after === before ? 'the same' : signedTime(after - before);
}

function row(name: string, before: number | undefined, after: number | undefined, change: string, kind = ''): HTMLElement {
  const cell = (ns: number | undefined): HTMLElement =>
    element('td', { text: ns === undefined ? '–' : time(ns), title: ns === undefined ? 'no such block' : exact(ns) });
  const held = change.replace(/ (?!\()/g, '\u00a0'); // a time and its unit stay on one line
  return tableRow({ class: `change ${kind}` }, name, cell(before), cell(after), held);
}

function judgedRow(judged: Judged, ofSteps: boolean): HTMLElement {
  const { change, before, after } = judged;
  return row(rowName(judged, ofSteps), before, after, `${SIGNS[change] ?? ''} ${changeText(judged)}`, change);
}

// What `hotlens diff` would print of it, in words.
function verdictOf({ change, noise, made }: Judged, ofSteps: boolean): string {
  const who = ofSteps ? 'Against the spread of all steps' : 'hotlens diff';
  const around = noise === undefined ? '' : ` of ±${time(noise)}`;
  const otherwise = made === undefined ? '' : ` It is made otherwise: ${made.join(', ')}.`;
  if (change === 'added' || change === 'removed') return `${who}: ${change}.${otherwise}`;
  const sure = noise === undefined ? 'the noise is not known' : `beyond the noise${around}`;
  const words = change !== 'same' ? `${change}, ${sure}` : noise === undefined ? 'no change' : `no change beyond the noise${around}`;
  return `${who}: ${words}.${otherwise}`;
}

export function differencePart(state: Selected): HTMLElement[] {
  const difference = differenceOf(state);
  if (difference === undefined) return [];
  const { before, after, measure, judged, ofSteps } = difference;
  const by = before === undefined || after === undefined ? '' : before === after ? 'same' : signedTime(after - before);
  const head = ['', 'before', 'after', 'change'].map((text) => element('th', { text }));
  return [
    element(
      'table',
      { class: 'difference' },
      element('tr', {}, ...head),
      row(`as drawn, ${measure}`, before, after, by),
      ...(judged === undefined ? [] : [judgedRow(judged, ofSteps)]),
    ),
    ...(judged === undefined ? [] : [element('p', { class: 'dim', text: verdictOf(judged, ofSteps) })]),
  ];
}
