// Widgets get what they draw as plain values; what they change arrives at a list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Colours } from '../base/palette';
import type { Line } from '../commands/reveal';
import { renderCompare } from '../compare/compare';
import { renderDetails } from '../panel/details';
import { renderBreakdown } from '../screen/breakdown';
import { renderStory } from '../screen/header';
import { renderSteps } from '../screen/steps';
import type { BreakdownRow, Comparison } from '../server/table_messages';
import { moduleKey, type Action } from '../state/state';
import { seenBlock } from '../view/shown';
import { countOf, press, textOf } from './fake_page';
import { levelOf, overviewOf, trackOf } from './fixtures';

const STEPS = overviewOf('p', [
  [3, 1e6],
  [4, 2e6],
]);

function desk() {
  const [actions, lines]: [Action[], Line[]] = [[], []];
  return {
    actions,
    lines,
    dispatch: (...given: readonly Action[]): void => void actions.push(...given),
    reveal: (line: Line): void => void lines.push(line),
  };
}

test('the causes of a step are one sentence, and each leads to its block', () => {
  const evidence = [
    { what: 'device idle', time: 5e5, where: '', path: ['data'] },
    { what: 'copies', time: 0, where: '' },
  ];
  const { actions, dispatch } = desk();
  const story = renderStory({ ...STEPS, verdict: { kind: 'input', evidence } }, dispatch);
  assert.equal(textOf(story), '50 % of the step: device idle copies');
  press(story, '50 % of the step: device idle');
  assert.deepEqual(actions, [{ type: 'go', path: ['data'] }]);
  assert.deepEqual(renderStory(undefined, dispatch), []);
});

test('a step is shown by a click, and compared with by Shift and a click unless it is the shown one', () => {
  const { actions, dispatch } = desk();
  const strip = renderSteps({ overview: STEPS, view: { step: 0 } }, dispatch);
  press(strip, '4 · 2.00 ms');
  press(strip, '4 · 2.00 ms', { shiftKey: true });
  press(strip, '3 · 1.00 ms', { shiftKey: true });
  press(strip, 'steps');
  assert.deepEqual(actions, [
    { type: 'show step', step: 1 },
    { type: 'compare', step: 1 },
    { type: 'show step', step: 0 },
    { type: 'show recording' },
  ]);
  assert.equal(countOf(renderSteps({ view: {} }, dispatch), 'skeleton'), 1);
});

test('a comparison opens its rows, goes to their blocks, and says why it cannot be there', () => {
  const side = { id: 'p', source: 'train.py', step: 0 };
  const rows = [{ change: 'slower' as const, before: 1e6, after: 2e6, module: 'fc', children: 1, path: ['fc'] }];
  const top: Comparison = { step: { change: 'same' }, rows, before: side, after: { ...side, step: 1 } };
  const state = { overview: STEPS, comparisons: { [moduleKey()]: top }, expanded: [], failures: {}, view: { alone: true } };
  const { actions, dispatch } = desk();
  const drawn = renderCompare(state, dispatch);
  assert.match(textOf(drawn), /^step 4 \(after\) against step 3 \(before\).*fc.*▲ \+1\.00 ms \(\+100 %\)$/);
  for (const each of ['▸', 'fc', 'both timelines', 'close']) press(drawn, each);
  assert.deepEqual(actions, [
    { type: 'expand', module: 'fc' },
    { type: 'go', path: ['fc'] },
    { type: 'alone', alone: false },
    { type: 'compare' },
  ]);
  const failed = renderCompare({ ...state, failures: { 'compare ': 'The profile is gone.' } }, dispatch);
  assert.match(textOf(failed), /The profile is gone\./);
});

test('idle time is told as it is drawn, then why nothing ran, with a link to the line that the host was at', () => {
  const level = levelOf([trackOf('gpu', [{ start: 1000, duration: 5000, label: 'idle', kind: 'idle', stage: 'idle' }])], [0, 1e4]);
  const cursor = { depth: 0, segment: '', track: 'gpu', start: 1000 };
  const state = {
    levels: [],
    beside: { levels: [], counterparts: {} },
    failures: {},
    whatIfs: { asked: 0 },
    view: { step: 0, path: [], cursor },
  };
  const { lines, dispatch, reveal } = desk();
  const told = { dispatch, commands: { reveal, run: (): void => undefined } };
  const seen = seenBlock(level, 'gpu', 0);
  const asked = renderDetails(state, seen, told.dispatch, told.commands);
  assert.match(textOf(asked), /^Selected nothing runs here .*gpu · idle .*No work of this step runs here\./);
  assert.equal(countOf(asked, 'skeleton'), 1);
  const doing = [{ what: 'loads data', waits: false, time: 4000, file: '/a/train.py', line: 6 }];
  const idle = { end: 6000, parts: [], doing, track: 'gpu', at: 1000, before: false };
  const known = renderDetails({ ...state, idle }, seen, told.dispatch, told.commands);
  assert.equal(countOf(known, 'skeleton'), 0);
  const failed = renderDetails({ ...state, failures: { idle: 'The server is busy.' } }, seen, told.dispatch, told.commands);
  assert.match(textOf(failed), /The server is busy\./);
  press(known, 'train.py:7');
  assert.deepEqual(lines, [{ file: '/a/train.py', line: 6 }]);
});

test('a row of the breakdown opens into its parts and shows its block; one without a block shows its line', () => {
  const colours = { theme: 'dark', ground: '#1e1e1e' } as Colours;
  const row = (label: string, rest: Partial<BreakdownRow>): BreakdownRow => ({
    label,
    kind: 'module',
    value: 50,
    parts: [],
    children: 0,
    ...rest,
  });
  const rows = [row('net', { module: 'net', children: 2, path: ['forward', 'net'] }), row('loss', { file: '/a/train.py', line: 9 })];
  const state = {
    overview: STEPS,
    breakdowns: { time: { rows, total: 100 } },
    drill: [],
    failures: { 'breakdown memory': 'no memory' },
    view: { step: 0 },
  };
  const { actions, lines, dispatch, reveal } = desk();
  const charts = renderBreakdown(state, colours, dispatch, reveal);
  assert.match(textOf(charts), /^Time by module — 100 ns.* Memoryno memory$/);
  press(charts, 'net  50 ns');
  press(charts, 'loss  50 ns');
  assert.deepEqual(actions, [
    { type: 'drill', drill: [{ label: 'net', module: 'net' }] },
    { type: 'go', path: ['forward', 'net'] },
  ]);
  assert.deepEqual(lines, [{ file: '/a/train.py', line: 9 }]);
});
