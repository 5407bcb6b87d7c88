import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastRows, readHistory } from '../history';

const PAST = {
  id: '20261123T204415Z-8dc3b3',
  created: '2026-11-23T20:44:15Z',
  source: 'train.py --lr 1',
  step: '32.0 ms',
  commit: 'a1b2c3d+',
  changed: ['arguments'],
  shown: true,
  baseline: false,
};

test('a profile says when, how long, what ran and what changed', () => {
  const [row] = pastRows(readHistory({ profiles: [PAST], total: 1 }));
  assert.ok(row !== undefined);
  assert.equal(row.label, '2026-11-23 20:44 UTC  32.0 ms/step');
  assert.equal(row.description, 'shown');
  assert.equal(row.detail, 'train.py --lr 1  ·  a1b2c3d+  ·  changed: arguments');
});

test('what is not known is left out, and what cannot be read is no profile', () => {
  const { step: _step, commit: _commit, ...bare } = PAST;
  const [row] = pastRows(readHistory({ profiles: [{ ...bare, changed: [], baseline: true }] }));
  assert.deepEqual([row?.label, row?.description, row?.detail], ['2026-11-23 20:44 UTC', 'shown, baseline', 'train.py --lr 1']);
  for (const answer of [
    null,
    3,
    {},
    { profiles: 1 },
    { profiles: [null, { ...PAST, id: 3 }, { ...PAST, changed: [1] }, { ...PAST, shown: 1 }] },
  ]) {
    assert.deepEqual(readHistory(answer), []);
  }
});
