// What could help, at most: the rows of the panel beside the levels, and the lines that they lead to.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { OLD, open } from './open.mjs';
import { eventually } from './page.mjs';

const HEADING = 'What could help';
const percent = (ratio) => `${Math.round((1 - ratio) * 100)} %`;

// Each change with what it saves, as long a bar as its share, its evidence on request, also by keys alone.
async function rowsOf(world, options, what) {
  const { timeline, page } = await open(world, world.trace(OLD), options);
  const { findings, sensitivity, communicationSensitivity, representative } = await timeline.ask('overview', {});
  assert.ok(findings.length > 0, 'a trace without anything that could help');
  const summaries = page.locator('aside .helps summary');
  await eventually('not every change has a row', async () => (await summaries.count()) === findings.length);
  await timeline.settled();
  const crumbs = await timeline.crumbs();
  for (const [index, { title, low }] of findings.entries()) {
    const words = await summaries.nth(index).innerText();
    assert.ok(words.includes(title) && words.includes(`at most −${percent(low)}`), words);
    const long = await summaries
      .nth(index)
      .locator('.share')
      .evaluate((bar) => Number.parseFloat(getComputedStyle(bar).backgroundSize));
    assert.ok(Math.abs(long - (1 - low) * 100) < 0.1, `${title}: a bar of ${long} %`);
  }
  const line = await page.locator('aside .sensitivity').count();
  assert.equal(line, [sensitivity, communicationSensitivity].filter((told) => told !== undefined).length);
  const reasons = page.locator('aside .helps .evidence').first();
  assert.ok(!(await reasons.isVisible()), 'evidence is told before anybody asks');
  await summaries.first().focus();
  await timeline.press('Enter');
  await eventually('Enter does not open a row', () => reasons.isVisible());
  const told = await reasons.innerText();
  for (const { what } of findings[0].evidence) assert.ok(told.includes(what), told);
  for (const condition of findings[0].assumes) assert.ok(told.includes(`if ${condition}`), told);
  assert.deepEqual(await timeline.crumbs(), crumbs, 'Enter on a row opens a block as well');
  await summaries.first().scrollIntoViewIfNeeded();
  await world.shoot(page, what);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the rows make the page wide');
  const drawn = await summaries.first().elementHandle();
  await page.emulateMedia({ colorScheme: options.colorScheme === 'dark' ? 'light' : 'dark' });
  await eventually('another theme draws nothing anew', () => drawn.evaluate((row) => !row.isConnected));
  await eventually('a row loses the focus when it is drawn anew', () =>
    page.evaluate(() => document.activeElement === document.querySelector('aside .helps details[open] summary')),
  );
  await page.emulateMedia({ colorScheme: options.colorScheme });
  const [away, back] = representative > 0 ? ['[', ']'] : [']', '['];
  await timeline.press(away);
  await eventually('another step shows what helps the usual one', async () => !(await timeline.details()).includes(HEADING));
  await timeline.settled();
  await timeline.press(back);
  await eventually('the row that was opened is closed', () => reasons.isVisible());
  await timeline.press('ArrowRight');
  await eventually('a stage shows what helps the whole step', async () => !(await timeline.details()).includes(HEADING));
}

export const helpsDark = (world) => rowsOf(world, { colorScheme: 'dark' }, 'dark');
export const helpsLight = (world) => rowsOf(world, { colorScheme: 'light' }, 'light');
export const helpsNarrow = (world) => rowsOf(world, { colorScheme: 'light', viewport: { width: 400, height: 800 } }, '400');

const event = (cat, name, ts, dur) => ({ ph: 'X', cat, name, pid: 1, tid: 1, ts, dur, args: {} });

async function openEvents(world, traceEvents) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-helps-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  fs.writeFileSync(path.join(folder, 't.json'), JSON.stringify({ schemaVersion: 1, traceEvents }));
  return open(world, path.join(folder, 't.json'), { folder });
}

// A line whose file has a name that is markup.
export async function helpsLead(world) {
  const name = 'my <b>train.py';
  const { timeline, page } = await openEvents(world, [
    event('user_annotation', 'ProfilerStep#0', 0, 10_000),
    event('python_function', `${name}(12): main`, 0, 9_990),
    event('user_annotation', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', 50, 4_000),
    event('cpu_op', 'aten::linear', 5_000, 3_000),
  ]);
  const [{ file, line }] = (await timeline.ask('overview', {})).findings;
  assert.deepEqual([file, line], [name, 11]);
  const link = page.locator('aside .helps .link');
  assert.equal(await link.innerText(), `${name}:12`);
  assert.equal(await page.locator('aside b b, aside .helps b').count(), 0);
  await link.click();
  await eventually('the line is not asked for', async () => (await timeline.said()).includes(`${name}:12`));
  await world.shoot(page);
}

export async function helpsNothing(world) {
  const { timeline } = await openEvents(world, [
    event('user_annotation', 'ProfilerStep#0', 0, 1000),
    event('cpu_op', 'aten::linear', 10, 980),
  ]);
  const { findings, sensitivity } = await timeline.ask('overview', {});
  assert.deepEqual([findings, sensitivity], [[], undefined]);
  assert.match(await timeline.details(), /CPU total/);
  assert.ok(!(await timeline.details()).includes(HEADING));
}
