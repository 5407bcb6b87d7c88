// What commands and parts of the screen do with the state, without a page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHANGES, pinSelected } from '../commands/changes';
import { compareSteps } from '../commands/comparing';
import { layoutPicture } from '../layout/layout';
import { followCursor, scrolledTo } from '../levels/scroll';
import { part } from '../screen/parts';
import { MOST_PINS } from '../state/pins';
import { reduce } from '../state/reduce';
import { initialState, type Action, type State } from '../state/state';
import { cursorAfter, select } from '../view/cursor';
import { seenBlock, shownLevels } from '../view/shown';
import { fit, panBy, zoomAt } from '../view/zooms';
import { levelOf, overviewOf, trackOf } from './fixtures';

const LEVEL = levelOf(
  [
    trackOf('cpu', [
      { start: 0, duration: 600, label: 'forward', open: true },
      { start: 600, duration: 400, label: 'backward', open: true },
    ]),
  ],
  [0, 1000],
);
const START = initialState({ path: [], zooms: [], unfold: false, profile: 'p', step: 0 });
const play = (state: State, ...actions: readonly Action[]): State => actions.reduce(reduce, state);
const OPENED = play(START, { type: 'level', depth: 0, whole: true, loaded: { level: LEVEL, width: 500, unfold: false } });

test('the view follows a cursor that leaves it, and not one that stays in it', () => {
  const zoomed = play(OPENED, { type: 'zoom', depth: 0, span: [0, 100] });
  const at = (index: number) => ({ depth: 0, seen: seenBlock(LEVEL, 'cpu', index)! });
  assert.deepEqual(
    select(zoomed, at(0)).map(({ type }) => type),
    ['move'],
  );
  const [, zoom] = select(zoomed, at(1));
  assert.deepEqual(zoom, { type: 'zoom', depth: 0, span: [750, 850] });
  const walked = play(zoomed, ...CHANGES.right(play(zoomed, ...select(zoomed, at(0))), 500));
  assert.deepEqual([walked.view.cursor?.segment, walked.view.zooms[0]], ['backward', [750, 850]]);
});

test('a zoom that shows all of a level is none, nothing is panned before it is zoomed, and fit ends with every level whole', () => {
  assert.deepEqual(zoomAt(OPENED, 500, 0, 500, 2), [{ type: 'zoom', depth: 0 }]);
  assert.deepEqual(zoomAt(START, 500, 0, 500, 0.5), [], 'no level is there');
  assert.deepEqual(panBy(OPENED, 0, 100), []);
  const view = { path: ['a', 'b'], zooms: [[1, 2], undefined, [3, 4]] } as const;
  assert.deepEqual(fit({ view: { ...view, cursor: { depth: 2, segment: 'x' } } }), [{ type: 'zoom', depth: 2 }]);
  assert.deepEqual(fit({ view: { ...view, cursor: { depth: 1, segment: 'x' } } }), [
    { type: 'zoom', depth: 0 },
    { type: 'zoom', depth: 2 },
  ]);
});

test('the usual step is compared with the slowest one, another with the usual one, and again ends it', () => {
  const overview = overviewOf('p', [
    [0, 10],
    [1, 30],
    [2, 20],
  ]);
  assert.deepEqual(compareSteps({ overview, view: { step: 0 } }), { type: 'compare', step: 1 });
  assert.deepEqual(compareSteps({ overview, view: { step: 2 } }), { type: 'compare', step: 0 });
  assert.deepEqual(compareSteps({ overview, view: { step: 2, beforeStep: 0 } }), { type: 'compare' });
  assert.equal(compareSteps({ overview, view: { step: -1 } }).type, 'note');
  assert.equal(compareSteps({ view: { step: 0 } }).type, 'note');
});

test('Escape closes what was opened last, and above the step there is the recording', () => {
  const closed = (state: State): Action['type'] => CHANGES.close(state, 500)[0]!.type;
  const chosen = play(OPENED, { type: 'open', path: ['forward'] }, { type: 'range', depth: 0, span: [1, 2] });
  const searching = play(chosen, { type: 'search', open: true });
  assert.deepEqual([play(searching, { type: 'help', open: true }), searching, chosen, OPENED].map(closed), [
    'help',
    'search',
    'range',
    'show recording',
  ]);
  assert.equal(closed(play(chosen, { type: 'range', depth: 0 })), 'close');
  assert.equal(closed(play(OPENED, { type: 'show recording' })), 'note');
});

test('a block gets one pin, and what cannot have one is told', () => {
  const view = { step: 0, path: [], cursor: { depth: 0, segment: 'forward' } };
  const pin = { step: 0, path: ['forward'], note: '' };
  assert.deepEqual(pinSelected(view), { type: 'pin', pin });
  assert.equal(pinSelected({ ...view, pins: [pin] }), undefined);
  const full = Array.from({ length: MOST_PINS }, (_, index) => ({ ...pin, path: [`${index}`] }));
  for (const none of [
    { ...view, step: -1 },
    { step: 0, path: [] },
    { ...view, pins: full },
  ])
    assert.equal(pinSelected(none)?.type, 'note');
});

test('a level that was entered gets the cursor when it is there', () => {
  const entered = play(OPENED, { type: 'open', path: ['forward'], enter: true });
  const inner = levelOf([trackOf('cpu', [{ start: 0, duration: 600, label: 'conv', open: true }])], [0, 600], { path: ['forward'] });
  const arrived = play(entered, { type: 'level', depth: 1, whole: true, loaded: { level: inner, width: 500, unfold: false } });
  const [move] = cursorAfter(arrived, entered, 500);
  assert.deepEqual(move, { type: 'move', cursor: { depth: 1, segment: 'conv', track: 'cpu', start: 0 } });
  assert.deepEqual(cursorAfter({ ...arrived, leading: true }, entered, 500), [], 'the page opened it by itself');
  assert.deepEqual(cursorAfter(arrived, arrived, 500), []);
});

test('the pane follows the cursor until somebody scrolls, and moves no further than it has to', () => {
  const moved = play(OPENED, { type: 'open', path: ['forward'] });
  assert.deepEqual(followCursor(false, moved, OPENED), { following: true, scroll: true });
  const finer = { ...moved, levels: [...moved.levels] };
  assert.deepEqual(followCursor(true, finer, moved), { following: true, scroll: true });
  assert.deepEqual(followCursor(false, finer, moved), { following: false, scroll: false });
  assert.deepEqual(followCursor(true, { ...finer, leading: true }, moved), { following: false, scroll: false });
  const picture = layoutPicture(shownLevels(moved, 500), 500);
  const [upper, lower] = picture.levels;
  assert.equal(scrolledTo(picture, moved.view, 0, picture.height), 0);
  const low = scrolledTo(picture, moved.view, 0, lower!.bottom - upper!.titleTop);
  assert.ok(low <= upper!.titleTop, 'the level of the cursor stays in view');
  assert.equal(scrolledTo(picture, moved.view, 900, 2000), upper!.titleTop - 8);
  const inside = { path: ['forward'] };
  assert.equal(scrolledTo(picture, inside, 0, 10), lower!.titleTop - 8, 'of what has no room, the top');
});

test('a part of the screen is drawn when what it is drawn from changes, and for nothing else', () => {
  const drawn: string[] = [];
  const said = part({ of: ['note'], inView: ['cursor'], quiet: ['zooms'], draw: ({ note }) => void drawn.push(note ?? 'none') });
  const told = { ...START, note: 'one' };
  said(START, undefined);
  said(told, START);
  said({ ...told, help: true }, told);
  said(play(told, { type: 'zoom', depth: 0, span: [1, 2] }), told);
  said(play(told, { type: 'move', cursor: { depth: 0, segment: 'a' } }), told);
  assert.deepEqual(drawn, ['none', 'one', 'one']);
});
