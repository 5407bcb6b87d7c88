import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport } from '../server/transport';
import { START } from '../state/address';
import { initialState } from '../state/state';
import { readFirst, withFirst, type FirstAnswers } from '../store/first';
import { needs } from '../store/needs';
import { createStore } from '../store/store';
import { levelOf, overviewOf, trackOf } from './fixtures';

const FIRST: FirstAnswers = {
  profiles: {
    profiles: [
      { id: 'p', source: 'train.py' },
      { id: 'old', source: 'old.py' },
    ],
    current: 'p',
  },
  overview: overviewOf(
    'p',
    [
      [0, 10],
      [1, 10],
    ],
    { representative: 1 },
  ),
  level: levelOf([trackOf('cpu', [{ start: 0, duration: 9, label: 'forward' }])], [0, 10], { step: 1 }),
  width: 2048,
};
const asked = (view: typeof START, width = 1000): string[] => needs(withFirst(initialState(view), FIRST), width).map(({ slot }) => slot);

test('what travels with the page is the whole first picture', () => {
  assert.deepEqual(
    asked(START).filter((slot) => /profiles|overview|level/.test(slot)),
    [],
  );
  assert.deepEqual(withFirst(initialState(START), FIRST).view.step, 1);
});

test('an address that names something else is followed, and only what is missing is asked for', () => {
  assert.deepEqual(
    asked({ ...START, path: ['forward'] }).filter((slot) => slot.startsWith('level')),
    ['level 1'],
  );
  assert.deepEqual(
    asked({ ...START, profile: 'p', step: 0 }).filter((slot) => slot.startsWith('level')),
    ['level 0'],
  );
  assert.deepEqual(asked({ ...START, profile: 'old' }), ['overview', 'level 0']);
  assert.deepEqual(
    asked({ ...START, unfold: true }).filter((slot) => slot.startsWith('level')),
    ['level 0'],
  );
});

test('a page without first answers asks for everything', () => {
  assert.deepEqual([readFirst(''), readFirst(null), readFirst(undefined)], [undefined, undefined, undefined]);
  assert.deepEqual(
    needs(withFirst(initialState(START), undefined), 1000).map(({ slot }) => slot),
    ['profiles', 'overview', 'level 0'],
  );
});

test('whenever the connection opens, the profiles are asked for again: what changed meanwhile was not told', async () => {
  const asked: string[] = [];
  const transport: Transport = {
    request: (method) => {
      asked.push(method);
      return method === 'hotlens/timeline/profiles' ? Promise.resolve(FIRST.profiles as never) : new Promise(() => undefined);
    },
    onNotification: () => undefined,
    onConnection: () => undefined,
  };
  const store = createStore(withFirst(initialState(START), FIRST), transport);
  store.setWidth(1000);
  const lists = async (): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve));
    return asked.filter((method) => method.endsWith('profiles')).length;
  };
  assert.equal(await lists(), 0);
  transport.onConnection('open');
  assert.equal(await lists(), 1);
  transport.onConnection('lost');
  transport.onConnection('open');
  assert.equal(await lists(), 2);
  assert.equal(store.get().overview, FIRST.overview, 'what is shown stays');
});

test('a block that is chosen elsewhere is shown, with the profile to compare it with; the cursor of an editor ends no comparison', () => {
  const transport: Transport = {
    request: () => new Promise(() => undefined),
    onNotification: () => undefined,
    onConnection: () => undefined,
  };
  const store = createStore(withFirst(initialState(START), FIRST), transport);
  const profile = FIRST.overview.profile.id;
  const select = (path: string[], before?: string): void =>
    transport.onNotification({
      method: 'hotlens/timeline/select',
      params: { profile, step: 0, path, ...(before === undefined ? {} : { before }) },
    });
  select(['forward']);
  assert.equal(store.get().view.before, undefined);
  select(['forward'], 'old');
  assert.equal(store.get().view.before, 'old');
  select(['backward']);
  assert.deepEqual([store.get().view.before, store.get().view.cursor?.segment], ['old', 'backward']);
});
