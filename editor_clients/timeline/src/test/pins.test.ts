import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinLabel } from '../panel/pin_list';
import { readAddress, START, writeAddress, type View } from '../state/address';
import {
  cleanNote,
  MOST_NOTE,
  MOST_PINS,
  pinKey,
  pinMarks,
  pinWords,
  readPins,
  withoutPin,
  withPin,
  writePin,
  type Pin,
} from '../state/pins';
import { reduce } from '../state/reduce';
import { initialState, type Action, type State } from '../state/state';
import { needs } from '../store/needs';
import { overviewOf, random } from './fixtures';

const pin = (path: readonly string[], note = '', step = 1): Pin => ({ step, path, note });
const play = (state: State, ...actions: Action[]): State => actions.reduce(reduce, state);

const OVERVIEW = overviewOf(
  'p',
  [
    [5, 10],
    [6, 10],
  ],
  { representative: 1 },
);
const opened = (view: View = START): State =>
  play(
    initialState(view),
    { type: 'profiles', profiles: { profiles: [{ id: 'p', source: 'train.py' }], current: 'p' } },
    { type: 'overview', overview: OVERVIEW },
  );

test('pins and their notes go through the address as they are, whatever letters they have', () => {
  const letters = ['a', ':', '/', '%', '&', '=', '#', ' ', 'é', '😀', '<b>', '"', '~2', '×12'];
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const word = (): string =>
      Array.from({ length: 1 + Math.floor(next() * 5) }, () => letters[Math.floor(next() * letters.length)]).join('');
    const pins = Array.from({ length: 1 + Math.floor(next() * 4) }, (_, index) =>
      pin([`${index}`, word(), word()], cleanNote(word()).trim()),
    );
    const view: View = { ...START, profile: 'p', step: 1, pins };
    assert.deepEqual(readAddress(writeAddress(view)).pins, pins, `seed ${seed}`);
  }
});

test('an address may say anything: what is no pin is left out, the rest is read within limits', () => {
  const whole = writePin(pin(['forward', 'conv'], 'slow here'));
  assert.equal(readPins([whole])[0]?.note, 'slow here');
  for (const broken of [
    '',
    ':',
    '1',
    '1:',
    '-1:a',
    '1.5:a',
    'x:a',
    '1:%E0%A4%A:n',
    '1:a:%',
    '1:a//b',
    '1e3:a',
    `1:${'a/'.repeat(60)}a`,
    `1:${'x'.repeat(999)}`,
  ])
    assert.deepEqual(readPins([broken]), [], broken);
  const long = readPins([writePin(pin(['a'], 'y'.repeat(5000)))]);
  assert.equal(long[0]!.note.length, MOST_NOTE);
  assert.equal(readPins(Array.from({ length: 500 }, (_, index) => `1:a${index}`)).length, MOST_PINS);
  assert.deepEqual(readPins([whole, writePin(pin(['forward', 'conv'], 'again'))]).length, 1);
  // One broken pin costs nothing of the others, and nothing of the view.
  const view = readAddress(`profile=p&step=1&path=forward&pin=1:%25E0%25A4&pin=${encodeURIComponent(whole)}`);
  assert.deepEqual([view.profile, view.path, view.pins?.length], ['p', ['forward'], 1]);
});

test('a note is one line of bounded length without control characters', () => {
  assert.equal(cleanNote('a\n\tb\u0000\u0007c'), 'a bc');
  assert.equal([...cleanNote('😀'.repeat(300))].length, MOST_NOTE);
});

test('a block is pinned once, its note can change, and there is room for so many', () => {
  const one = withPin([], pin(['a']));
  assert.deepEqual(withPin(one, pin(['a'], 'why')), [pin(['a'], 'why')]);
  assert.deepEqual(withPin(one, pin(['a'], '', 2)).length, 2, 'another step has its own');
  const full = Array.from({ length: MOST_PINS }, (_, index) => pin([`${index}`]));
  assert.equal(withPin(full, pin(['more'])), full);
  assert.equal(withPin(full, pin(['3'], 'n')).find(({ note }) => note === 'n')?.path[0], '3');
  assert.deepEqual(withoutPin(one, { step: 1, path: ['a'] }), []);
  assert.deepEqual(withoutPin(one, { step: 0, path: ['a'] }), one);
});

test('a level marks its own pinned blocks and those that hold one, of the shown step', () => {
  const pins = [pin(['forward'], 'here'), pin(['forward', 'conv'], 'and here'), pin(['backward', 'x', 'y']), pin(['data'], '', 0)];
  const marks = pinMarks(pins, 1, []);
  assert.deepEqual(
    marks.map(({ segment, whole }) => [segment, whole]),
    [
      ['forward', true],
      ['backward', false],
    ],
  );
  assert.deepEqual(marks.map(pinWords), ['2 pins: here · and here', 'a pin inside']);
  assert.deepEqual(
    pinMarks(pins, 1, ['forward']).map(({ segment, whole }) => [segment, whole]),
    [['conv', true]],
  );
  assert.equal(pinWords(pinMarks([pin(['a'])], 1, [])[0]!), 'pinned');
});

test('what is pinned is asked for once; what the profile does not have is told as that', () => {
  const view: View = { ...START, profile: 'p', step: 1, pins: [pin(['forward', 'conv'], 'n'), pin(['gone'], '', 0)] };
  const asked = (state: State) => needs(state, 100).filter(({ slot }) => slot.startsWith('pin'));
  const state = opened(view);
  assert.deepEqual(
    asked(state).map(({ params }) => params),
    [
      { profile: 'p', step: 1, path: ['forward', 'conv'] },
      { profile: 'p', step: 0, path: ['gone'] },
    ],
  );
  const [first, second] = asked(state);
  const known = play(state, first!.done({ label: 'conv', times: { cpuTotal: 5_000_000 } } as never), second!.gone!());
  assert.deepEqual(asked(known), []);
  const labels = view.pins!.map((each) => pinLabel(each, known));
  assert.deepEqual(labels, [
    { text: 'conv · 5.00 ms', known: true },
    { text: 'step 5: gone is not in this profile', known: false },
  ]);
});

test('pins stay when another step or profile is shown, and go one by one', () => {
  const state = play(opened(), { type: 'pin', pin: pin(['a']) }, { type: 'pin', pin: pin(['b']) });
  assert.equal(state.leading, false);
  for (const action of [{ type: 'show step', step: 0 }, { type: 'show profile', profile: 'q' }, { type: 'show recording' }] as const)
    assert.equal(play(state, action).view.pins?.length, 2, action.type);
  const one = play(state, { type: 'unpin', step: 1, path: ['a'] });
  assert.deepEqual(one.view.pins?.map(pinKey), [pinKey(pin(['b']))]);
  assert.equal(play(one, { type: 'unpin', step: 1, path: ['b'] }).view.pins, undefined);
});
