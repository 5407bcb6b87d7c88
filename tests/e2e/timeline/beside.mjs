// Two timelines on one axis: before above, after below. What is expected comes from the server's own answers about each of them.
import assert from 'node:assert/strict';
import { AFTER, BEFORE, kind, label, open } from './open.mjs';
import { eventually } from './page.mjs';
import { recordAgain, recordExample } from './recording.mjs';

const TITLE = 20;
const NOTE = 18; // below the upper level's tracks

const stepOf = (timeline, profile) => timeline.ask('level', { profile, path: [], width: 1140 });

// Where a moment of the topmost pair stands on a track of either side.
async function pointIn(timeline, { before, after, view }, side, track, time) {
  await timeline.page.locator('.levels').evaluate((pane) => pane.scrollTo(0, 0)); // a pair may be higher than the pane
  const { box, scroll, left, trackWidth, firstTrack, track: distance, height } = await timeline.geometry();
  const upper = before.tracks.length * distance - 6;
  const top = side === 'before' ? firstTrack : firstTrack + upper + NOTE + TITLE;
  assert.ok(track < (side === 'before' ? before : after).tracks.length);
  return {
    x: box.x + left + ((time - view[0]) / (view[1] - view[0])) * trackWidth,
    y: box.y + top + track * distance + height / 2 - scroll,
  };
}

const union = (a, b) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])];

// A block in the middle of which a person can point, on a track of the host.
function wide({ tracks, extent }) {
  const row = tracks.findIndex((track) => track.kind === 'host');
  const { duration, open: opens } = tracks[row].blocks;
  const index = duration.findIndex(
    (each, at) => each > 0.05 * (extent[1] - extent[0]) && opens[at] === 1 && kind(tracks[row], at) !== 'idle',
  );
  return { row, index };
}

const middle = ({ blocks }, index) => blocks.start[index] + blocks.duration[index] / 2;

const tip = (page) => page.locator('.tip').innerText();

async function comparing(world, options = {}) {
  const opened = await open(
    world,
    [AFTER, BEFORE].map((file) => world.trace(file)),
    options,
  );
  const { timeline, page } = opened;
  const { compareWith, profile } = await timeline.ask('overview', {});
  await page.getByLabel('the profile to compare with').selectOption(compareWith[0]);
  await eventually('no comparison', async () => (await page.locator('.compare tr.change').count()) > 0);
  await timeline.settled();
  const [before, after] = [await stepOf(timeline, compareWith[0]), await stepOf(timeline, profile.id)];
  return { ...opened, before, after, view: union(before.extent, after.extent), ids: { before: compareWith[0], after: profile.id } };
}

// Hover, click and zoom mean the same in both, at the same time on the same pixel; a click says the difference as the diff judges it.
export async function beside(world) {
  const shown = await comparing(world);
  const { timeline, page, ids } = shown;
  await world.shoot(page, 'step');
  for (const side of ['before', 'after']) {
    const { row, index } = wide(shown[side]);
    const track = shown[side].tracks[row];
    const point = await pointIn(timeline, shown, side, row, middle(track, index));
    await page.mouse.move(point.x, point.y);
    await eventually(`no tip ${side}`, async () => (await tip(page)).startsWith(label(track, index)) && (await tip(page)).includes(side));
    await page.mouse.click(point.x, point.y);
    await eventually(`a click does not select ${side}`, async () => (await timeline.selected()).includes(`, ${side}`));
    const other = side === 'before' ? 'after' : 'before';
    const path = [track.blocks.segment[index]];
    const { judged } = await timeline.ask('counterpart', { profile: ids[side], other: ids[other], side, path });
    await eventually('no difference', async () => (await page.locator('aside .difference tr').count()) === (judged ? 3 : 2));
    if (judged) {
      assert.match(await page.locator('aside .difference tr').last().getAttribute('class'), new RegExp(judged.change));
      await eventually('the difference is not told aloud', async () => (await timeline.selected()).includes('all steps'));
    }
  }
  // One axis: zoomed over the upper one, the same pixel is the same time in both.
  const { row, index } = wide(shown.before);
  const at = middle(shown.before.tracks[row], index);
  const point = await pointIn(timeline, shown, 'before', row, at);
  await page.mouse.move(point.x, point.y);
  await page.mouse.wheel(0, -500);
  const { from, to } = await eventually('the wheel does not zoom', async () => {
    const state = await timeline.addressAtRest();
    return state.from === undefined ? undefined : state;
  });
  await timeline.settled();
  const zoomed = { ...shown, view: [Number(from), Number(to)] };
  for (const side of ['before', 'after']) {
    const track = shown[side].tracks[shown[side].tracks.findIndex((each) => each.kind === 'host')];
    const under = track.blocks.start.findIndex((start, each) => start <= at && at < start + track.blocks.duration[each]);
    if (under < 0) continue;
    const there = await pointIn(timeline, zoomed, side, shown[side].tracks.indexOf(track), at);
    await page.mouse.move(there.x, there.y);
    await eventually(`another time ${side}`, async () => (await tip(page)).startsWith(label(track, under)));
  }
  await world.shoot(page, 'zoomed');
  // What is seen is added up for both.
  await timeline.press('r');
  const headings = () => page.locator('aside h2').allInnerTexts();
  await eventually('no sums of both', async () => (await headings()).filter((text) => /^range, (after|before)$/i.test(text)).length === 2);
}

// A level opens in both, arrows go from one to the other, Back and Forward and a reload find it again, and one may be shown alone.
export async function besideKeys(world) {
  const shown = await comparing(world);
  const { timeline, page, ids } = shown;
  const { row, index } = wide(shown.before);
  const point = await pointIn(timeline, shown, 'before', row, middle(shown.before.tracks[row], index));
  await page.mouse.dblclick(point.x, point.y);
  await eventually('a double click above opens nothing', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await world.shoot(page, 'opened');
  await timeline.press('ArrowDown');
  const seen = new Set();
  for (let key = 0; key < 40 && seen.size < 2; key++) {
    await timeline.press(key < 20 ? 'ArrowUp' : 'ArrowDown');
    const side = /, (before|after)\b/.exec(await timeline.selected())?.[1];
    if (side !== undefined) seen.add(side);
  }
  assert.deepEqual([...seen].sort(), ['after', 'before'], 'arrows do not reach both');
  // What is merged has no path for an address.
  for (let key = 0; key < 20 && (await timeline.addressAtRest()).at === undefined; key++) await timeline.press('ArrowUp');
  const state = await timeline.state();
  assert.equal(state.before, ids.before);
  await page.reload();
  await timeline.settled();
  assert.deepEqual(await timeline.state(), state);
  assert.equal((await timeline.crumbs()).length, 2);
  await timeline.press('b');
  await eventually('b does not show one alone', async () => (await timeline.state()).alone === '1');
  assert.ok(!(await timeline.selected()).includes(', after'));
  await timeline.addressAtRest();
  await world.shoot(page, 'alone');
  // Another comparison is another page: it is loaded anew.
  await Promise.all([page.waitForEvent('load'), page.goBack()]);
  await timeline.settled();
  assert.equal((await timeline.state()).alone, undefined, 'Back does not bring both');
  await Promise.all([page.waitForEvent('load'), page.goForward()]);
  await timeline.settled();
  assert.equal((await timeline.state()).alone, '1', 'Forward does not bring the one');
  await page.getByRole('button', { name: 'both timelines' }).click();
  await eventually('the button does not bring both', async () => (await timeline.state()).alone === undefined);
}

// In a panel beside the code, light and dark.
export async function besideNarrow(world) {
  for (const colorScheme of ['dark', 'light']) {
    const { timeline, page } = await comparing(world, { viewport: { width: 400, height: 900 }, colorScheme });
    await timeline.press('ArrowRight');
    await eventually('no difference', async () => (await page.locator('aside .difference').count()) === 1);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400, 'the page is wider than its window');
    await world.shoot(page, colorScheme);
    await page.locator('aside').scrollIntoViewIfNeeded();
    await world.shoot(page, `${colorScheme}-details`);
  }
}

// Of two recordings of one script the older one is before, also where it was shown when the newer one was chosen to compare with.
export async function besideOlder(world) {
  const folder = await recordExample(world, 'resnet_digits', ['--epochs', '1']);
  recordAgain(folder);
  const { timeline, page } = await open(world, 'latest', { folder });
  const { profiles } = await timeline.ask('profiles', {});
  const [newer, older] = profiles.map(({ id }) => id);
  await page.getByLabel('the profile that is shown').selectOption(older);
  await eventually('the older one is not shown', async () => (await timeline.state()).profile === older);
  await timeline.settled();
  await page.getByLabel('the profile to compare with').selectOption(newer);
  await eventually('the older one is not before', async () => {
    const { profile, before } = await timeline.state();
    return profile === newer && before === older;
  });
  await timeline.settled();
  await eventually('the table is of other sides', async () => (await page.locator('.compare tr.change').count()) > 0);
  await timeline.press('ArrowRight');
  // The same recording twice: nothing has changed, and nothing says so.
  await eventually('no difference', async () => /same|no change/.test(await page.locator('aside .difference').innerText()));
  assert.equal(await page.locator('.difference .slower, .difference .faster').count(), 0);
  await world.shoot(page);
}

// Two steps of one profile stand above each other as well.
export async function besideSteps(world) {
  const { timeline, page } = await open(world, world.trace(BEFORE));
  const { steps } = await timeline.ask('overview', {});
  if (steps.length < 2) return;
  await timeline.press('c');
  await eventually('no comparison', async () => (await page.locator('.compare tr.change').count()) > 0);
  await timeline.settled();
  await timeline.press('ArrowRight');
  await eventually('no difference', async () => (await page.locator('aside .difference').count()) === 1);
  await world.shoot(page);
  await timeline.press('c');
  await eventually('c does not end it', async () => (await page.locator('aside .difference').count()) === 0);
}
