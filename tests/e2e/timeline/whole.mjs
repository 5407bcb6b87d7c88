// The level above the steps: the whole recording on one axis.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { DEVICE, kind, label, open } from './open.mjs';
import { eventually } from './page.mjs';

// Steps and the time between them at their places; the wheel zooms, a double click or Enter opens a step, a reload comes back.
export async function recording(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const { steps } = await timeline.ask('overview', {});
  await page.locator('.steps .all').click();
  await eventually('the recording is not shown', async () => (await timeline.crumbs())[0] === 'recording');
  await timeline.settled();
  const whole = await timeline.ask('recording', { width: 1140 });
  const names = whole.tracks.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2), ['steps', 'CPU main']);
  assert.ok(names.some((name) => name.startsWith('GPU')));
  // Every step is drawn where it is: its colour in its middle differs from the ground above the tracks.
  const [track] = whole.tracks;
  const drawn = track.blocks.start.flatMap((_, index) => (kind(track, index) === 'step' ? [index] : []));
  assert.equal(drawn.length, steps.length);
  for (const [position, index] of drawn.entries()) {
    assert.equal(track.blocks.duration[index], steps[position].wall);
    const { x, y } = await timeline.pointOf(whole, 0, index);
    await page.mouse.move(x, y);
    await eventually('no tip', async () => (await page.locator('.tip').innerText()).startsWith(label(track, index)));
  }
  await world.shoot(page, 'whole');
  const last = drawn.at(-1);
  const { x, y } = await timeline.pointOf(whole, 0, last);
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -400);
  await eventually('the wheel does not zoom', async () => (await timeline.addressAtRest()).from !== undefined);
  const zoomed = await timeline.state();
  assert.equal(zoomed.step, 'all');
  await page.reload();
  await timeline.settled();
  assert.deepEqual(await timeline.state(), zoomed);
  await timeline.press('f');
  await timeline.settled();
  await page.mouse.dblclick(x, y);
  await eventually('the step is not opened', async () => (await timeline.addressAtRest()).step === String(drawn.length - 1));
  assert.match((await timeline.crumbs())[0], /^step /);
  // Up again, with keys alone: the step that was looked at is under the cursor.
  await timeline.press('o');
  await timeline.settled();
  await eventually('the step is not under the cursor', async () => (await timeline.selected()).startsWith(label(track, last)));
  // Where the device is behind the host, the first step begins later than the recording.
  await timeline.press('Home', ...(drawn[0] === 0 ? [] : ['ArrowRight']), 'Enter');
  await eventually('Enter opens no step', async () => (await timeline.addressAtRest()).step === '0');
}

// What ran in a stretch that holds parts of two steps, and the same stretch for Perfetto.
export async function recordingRange(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  await timeline.press('o');
  await timeline.settled();
  const whole = await timeline.ask('recording', { width: 1140 });
  const [first, second] = [0, 1].map((step) => whole.tracks[0].blocks.segment.indexOf(String(step)));
  const [from, to] = [await timeline.pointOf(whole, 0, first), await timeline.pointOf(whole, 0, second)];
  await page.keyboard.down('Shift');
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await eventually('no range', async () => (await page.locator('aside h2').first().innerText()).toLowerCase() === 'range');
  const chosen = await eventually('the address does not say the range', async () =>
    (await timeline.state()).range?.split(',').slice(1).map(Number),
  );
  const sums = await timeline.ask('range', { recording: true, from: chosen[0], to: chosen[1] });
  await eventually('the range says another kernel first', async () => (await timeline.details()).includes(sums.kernels[0].short));
  await world.shoot(page, 'chosen');
  await timeline.press('z');
  await eventually('z does not zoom to the range', async () => (await timeline.addressAtRest()).from !== undefined);
  const seen = await timeline.state();
  const [download] = await Promise.all([page.waitForEvent('download'), timeline.press('p')]);
  assert.equal(download.suggestedFilename(), 'hotlens-recording.json');
  const saved = fs.readFileSync(await download.path(), 'utf8');
  assert.equal(saved, (await timeline.ask('export', { recording: true, from: Number(seen.from), to: Number(seen.to) })).text);
}
