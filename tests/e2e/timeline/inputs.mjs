// Profiles of every kind: two to compare, hostile ones, ones with next to nothing or far too much in them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BEFORE, AFTER, open } from './open.mjs';
import { eventually, serve, TimelinePage } from './page.mjs';
import { recordAgain, recordExample } from './recording.mjs';

export async function compare(world) {
  const { timeline, page } = await open(
    world,
    [AFTER, BEFORE].map((file) => world.trace(file)),
  );
  const { compareWith, profile } = await timeline.ask('overview', {});
  assert.equal(compareWith.length, 1);
  await page.getByLabel('the profile to compare with').selectOption(compareWith[0]);
  const { rows } = await timeline.ask('compare', { before: compareWith[0], after: profile.id });
  await eventually('no comparison', async () => (await page.locator('.compare tr.change').count()) === rows.length);
  for (const change of ['faster', 'slower', 'same', 'added', 'removed']) {
    const shown = await page.locator(`.compare tr.change.${change}`).count();
    assert.equal(shown, rows.filter((row) => row.change === change).length, change);
  }
  await world.shoot(page);
  await eventually(
    'the address does not say the comparison',
    () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('before') === compareWith[0],
  );
  await page.reload();
  await timeline.settled();
  await eventually('a reload forgets the comparison', async () => (await page.locator('.compare tr.change').count()) === rows.length);
}

// A trace that somebody made to break the page: names that are markup, control characters, ten thousand letters.
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  'javascript:alert(1)',
  '\u202Eabc\u0000\u0007\n\r\t',
  'x'.repeat(10000),
  '',
  '${7*7}{{7*7}}',
];

function hostileTrace(file) {
  const event = (name, ts, dur, cat = 'cpu_op') => ({ ph: 'X', cat, name, pid: 1, tid: 1, ts, dur, args: { 'External id': ts } });
  const steps = [0, 1, 2].flatMap((step) => [
    event(`ProfilerStep#${step}`, step * 10000, 9000, 'user_annotation'),
    ...HOSTILE.map((name, index) => event(name, step * 10000 + 100 + index * 1000, 900)),
    ...HOSTILE.map((name, index) => event(`nn.Module: ${name}_0`, step * 10000 + 150 + index * 1000, 800, 'python_function')),
  ]);
  fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents: steps }));
}

export async function hostile(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-hostile-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, '<b>trace.json');
  hostileTrace(file);
  const { timeline, page } = await open(world, file, { folder });
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs++;
    return dialog.dismiss();
  });
  await timeline.press('ArrowRight', 'Enter', 'ArrowDown', 'Enter', 'ArrowDown', 'ArrowRight');
  await timeline.settled();
  await timeline.press('/');
  await page.keyboard.type('a');
  await eventually('no matches', async () => (await page.locator('.match').count()) > 1);
  await world.shoot(page);
  assert.equal(dialogs, 0);
  assert.deepEqual(
    await page.evaluate(() =>
      [...document.querySelectorAll('img, script:not([src]):not(#first), iframe, b b')].map(({ outerHTML }) => outerHTML),
    ),
    [],
  );
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'a long name makes the page wide');
}

const span = (name, ts, dur, cat = 'cpu_op') => ({ ph: 'X', cat, name, pid: 1, tid: 1, ts, dur, args: { 'External id': ts } });

// Traces with next to nothing in them, or far too much.
const ODD = {
  'one-event': [span('aten::add', 10, 5)],
  'many-steps': Array.from({ length: 400 }, (_, step) => [
    span(`ProfilerStep#${step}`, step * 1000, step === 77 ? 1900 : 900 + (step % 7), 'user_annotation'),
    span('aten::mm', step * 1000 + 50, 700),
  ]).flat(),
  'many-threads': [
    span('ProfilerStep#1', 0, 1e6, 'user_annotation'),
    ...Array.from({ length: 100_000 }, (_, thread) => ({ ...span('aten::mm', 10 + thread, 5000), tid: 10 + thread })),
  ],
  'tiny-and-long': [span('ProfilerStep#1', 0, 3.6e9, 'user_annotation'), span('aten::mm', 5, 0.001), span('aten::add', 3.5e9, 1)],
};

export async function odd(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-odd-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [name, traceEvents] of Object.entries(ODD)) {
    const file = path.join(folder, `${name}.json`);
    fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents }));
    const server = await serve(world.hotlens, file, { folder });
    world.closing(server.stop);
    const timeline = await TimelinePage.open(world.browser, server.address);
    world.closing(() => timeline.page.context().close());
    // Drawn, or a sentence that says why not.
    await eventually(
      `${name}: neither a picture nor a sentence`,
      async () =>
        (await timeline.crumbs()).length > 0 &&
        ((await timeline.page.locator('.skeleton').count()) === 0 || /[a-z]{3}.*\./.test(await timeline.said())),
    );
    await timeline.press('ArrowRight', '+', '+', '-', 'Enter', 'End', 'f', 'Escape');
    await world.shoot(timeline.page, name);
    assert.deepEqual(timeline.errors, [], name);
  }
}

// What only another step has is found from every step; choosing it goes there, and n goes on from there.
export async function searchSteps(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-search-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'rare.json');
  const traceEvents = [...ODD['many-steps'].slice(0, 20), span('aten::rare_one', 8760, 50), span('aten::rare_two', 6760, 40)];
  fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents }));
  const { timeline, page } = await open(world, file, { folder });
  const { steps: all, representative } = await timeline.ask('overview', {});
  const { matches } = await timeline.ask('search', { query: 'rare' });
  assert.deepEqual(
    matches.map(({ step }) => all[step].index),
    [8, 6],
  );
  assert.ok(matches.every(({ step }) => step !== representative));
  await timeline.press('/');
  await page.keyboard.type('rare');
  await page.locator('.match', { hasText: 'step 8 only' }).waitFor();
  await world.shoot(page, 'elsewhere');
  await page.keyboard.press('Enter');
  const at = (position) => async () =>
    Number((await timeline.state()).step) === matches[position].step && /rare/.test((await timeline.state()).at ?? '');
  await eventually('the first match is not shown in its step', at(0));
  await eventually('the match is not selected', async () => (await timeline.selected()).startsWith('aten::rare_one'));
  await timeline.press('n');
  await eventually('n does not go on to the next step', at(1));
  await timeline.press('N');
  await eventually('N does not go back', at(0));
}

const steps = (count) => ODD['many-steps'].slice(0, 2 * count);

// A profile that vanishes stays as it was read; a new one under its name takes its place, also where a reader found it half written.
export async function replaced(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-replaced-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'trace.json');
  const write = (count) => fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents: steps(count) }));
  write(3);
  const { timeline, page, server } = await open(world, file, { folder });
  const other = await TimelinePage.open(world.browser, server.address); // a second tab
  world.closing(() => other.page.context().close());
  await other.settled();
  assert.equal(await page.locator('.step').count(), 3);
  const { representative } = await timeline.ask('overview', {}); // what is shown; an address that was not changed says nothing
  fs.rmSync(file);
  await page.waitForTimeout(1300); // the server looks once a second
  await timeline.press(representative > 0 ? '[' : ']');
  await eventually(
    'another step of a vanished profile is not shown',
    async () => ![undefined, String(representative)].includes((await timeline.state()).step),
  );
  await timeline.settled();
  await eventually('nothing of a vanished profile is read any more', async () => /device busy|CPU total/.test(await timeline.details()));
  assert.equal(await page.locator('.step').count(), 3);
  fs.writeFileSync(file, '{');
  await page.waitForTimeout(1300);
  write(6);
  for (const each of [timeline, other]) {
    await eventually('the new profile is not shown', async () => (await each.page.locator('.step').count()) === 6);
    await each.settled();
    assert.match(await each.said(), /replaced/);
    assert.deepEqual(each.errors, []);
  }
}

// A run that is recorded anew while its timeline is open: the page goes on to the new one, at the same place, and the old one can be chosen.
export async function recordedAnew(world) {
  const folder = await recordExample(world, 'resnet_digits', ['--epochs', '1']);
  const { timeline, page } = await open(world, 'latest', { folder });
  await timeline.press('ArrowRight', 'Enter');
  await eventually('nothing opened', async () => (await timeline.crumbs()).length === 2);
  const [first, crumbs] = [
    await eventually('no profile in the address', async () => (await timeline.state()).profile),
    await timeline.crumbs(),
  ];
  recordAgain(folder);
  await eventually('the new profile is not shown', async () => (await timeline.said()).includes('newer profile'));
  await timeline.settled();
  await eventually('the address keeps the old profile', async () => ![undefined, first].includes((await timeline.state()).profile));
  assert.deepEqual((await timeline.crumbs()).slice(1), crumbs.slice(1), 'the level is closed');
  await world.shoot(page);
  await page.getByLabel('the profile that is shown').selectOption(first);
  await eventually('the older profile cannot be chosen', async () => (await timeline.state()).profile === first);
}
