// What a person does with one page: looks, walks with keys, points, searches, comes back.
import assert from 'node:assert/strict';
import { DEVICE, leading, open, stepLevel, kind, label, largest, widest, differ } from './open.mjs';
import { eventually, TimelinePage } from './page.mjs';

export async function drawn(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const overview = await timeline.ask('overview', {});
  assert.equal(await page.locator('.step').count(), overview.steps.length);
  assert.equal(await page.locator('.step.outlier').count(), overview.steps.filter(({ outlier }) => outlier).length);
  // In the middle of every block that is wide enough to aim at there is its colour, beside its last pixel the ground or a neighbour.
  const level = await stepLevel(timeline);
  const { trackWidth } = await timeline.geometry();
  const perPixel = (level.extent[1] - level.extent[0]) / trackWidth;
  const colours = new Map();
  let looked = 0;
  for (const [row, track] of level.tracks.entries()) {
    for (let index = 0; index < track.blocks.start.length && looked < 60; index++) {
      if (track.blocks.duration[index] < 8 * perPixel || ['idle', 'wait'].includes(kind(track, index))) continue;
      const point = await timeline.pointOf(level, row, index);
      const colour = await timeline.colourAt({ x: point.x, y: point.y - 11 }); // above the text
      const key = `${track.kind} ${track.blocks.stages[track.blocks.stage[index]]}`;
      if (key.endsWith('waiting') || key.endsWith('earlier_step')) continue;
      if (colours.has(key)) assert.ok(differ(colours.get(key), colour) <= 3, `${key} is ${colour}, elsewhere ${colours.get(key)}`);
      colours.set(key, colour);
      looked++;
    }
  }
  assert.ok(looked >= 3, `only ${looked} blocks are wide enough`);
  const all = [...colours.values()];
  assert.ok(
    all.some((colour) => all.some((other) => differ(colour, other) > 30)),
    'all stages have one colour',
  );
  await world.shoot(page);
}

export async function back(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  await timeline.press('ArrowRight', 'Enter');
  await eventually('Enter opens nothing', async () => (await timeline.crumbs()).length === 2);
  await timeline.addressAtRest();
  const opened = await timeline.crumbs();
  await page.goBack();
  await eventually('Back does not close what was opened', async () => (await timeline.crumbs()).length === 1);
  await timeline.settled();
  await page.goForward();
  await eventually('Forward does not open it again', async () => String(await timeline.crumbs()) === String(opened));
}

export async function keys(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const stage = leading(level);
  await timeline.press('ArrowRight');
  await eventually('the first arrow does not select the stage with most time', async () => (await timeline.selected()).startsWith(stage));
  // To the topmost track and its ends.
  for (let up = 0; up < level.tracks.length; up++) await timeline.press('ArrowUp');
  await timeline.press('End');
  const last = await timeline.selected();
  await timeline.press('Home');
  await eventually('Home does not leave the end', async () => (await timeline.selected()) !== last);
  const first = await timeline.selected();
  await timeline.press('ArrowRight');
  await eventually('the arrow does not move', async () => (await timeline.selected()) !== first);
  await timeline.press('ArrowLeft');
  await eventually('the arrow does not come back', async () => (await timeline.selected()) === first);
  for (let tries = 0; tries < 40 && !(await timeline.selected()).includes('can be opened'); tries++) await timeline.press('ArrowRight');
  await timeline.press('Enter');
  await eventually('Enter opens nothing', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await timeline.press('ArrowDown');
  await timeline.press('?');
  assert.ok(await page.locator('.help').isVisible());
  await world.shoot(page, 'help');
  await timeline.press('Escape');
  assert.ok(!(await page.locator('.help').isVisible()));
  await timeline.press('Escape');
  await eventually('Escape closes nothing', async () => (await timeline.crumbs()).length === 1);
  const step = (await timeline.addressAtRest()).step;
  await timeline.press('Backspace');
  await eventually('above the step is no recording', async () => (await timeline.crumbs())[0] === 'recording');
  await timeline.settled();
  await timeline.press('Backspace');
  assert.match(await timeline.said(), /no level above/);
  await timeline.press('Enter');
  await eventually('the recording does not lead back to the step', async () => (await timeline.addressAtRest()).step === step);
  const { steps } = await timeline.ask('overview', {});
  if (steps.length > 1) {
    await timeline.press(Number(step) > 0 ? '[' : ']');
    await eventually('another step is not shown', async () => (await timeline.state()).step !== step);
  }
}

export async function mouse(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  // A device's track may be full of what an earlier step launched, which has no time of the CPU.
  const onHost = level.tracks.map((track) =>
    track.name.startsWith('GPU') ? { ...track, blocks: { ...track.blocks, duration: [] } } : track,
  );
  const { row, index } = widest({ tracks: onHost });
  const point = await timeline.pointOf(level, row, index);
  const name = label(level.tracks[row], index);
  await page.mouse.move(point.x, point.y);
  await eventually('no tip', async () => (await page.locator('.tip.shown').innerText()).includes(name));
  const { times } = await timeline.ask('details', { path: [level.tracks[row].blocks.segment[index]] });
  assert.ok(times.device > 0);
  await eventually('who rests on a block is told nothing more', async () =>
    /CPU [\d.]+ \w+ .*device [\d.]+ /.test(
      await page
        .locator('.tip.shown .more')
        .allInnerTexts()
        .then((all) => all.join(' ')),
    ),
  );
  await world.shoot(page, 'tip');
  await page.mouse.click(point.x, point.y);
  await eventually('a click does not select', async () => (await timeline.selected()).startsWith(name));
  await eventually('no details', async () => /of the step|as long as/.test(await timeline.details()));
  await page.mouse.wheel(0, -600);
  await eventually('the wheel does not zoom', async () => (await timeline.state()).from !== undefined);
  const before = await timeline.state();
  const { box, left, trackWidth } = await timeline.geometry();
  const at = ({ from, to }) => Number(from) + ((point.x - box.x - left) / trackWidth) * (Number(to) - Number(from));
  const middle = level.tracks[row].blocks.start[index] + level.tracks[row].blocks.duration[index] / 2;
  const pixel = (Number(before.to) - Number(before.from)) / trackWidth;
  assert.ok(Math.abs(at(before) - middle) < 3 * pixel, 'the time under the pointer moved while zooming');
  await page.mouse.down();
  await page.mouse.move(point.x + 120, point.y, { steps: 6 });
  await page.mouse.up();
  await eventually('a drag does not pan', async () => Number((await timeline.state()).from) < Number(before.from));
  const panned = await timeline.state();
  assert.ok(Math.abs(Number(panned.to) - Number(panned.from) - (Number(before.to) - Number(before.from))) <= 2, 'panning changed the zoom');
  await world.shoot(page, 'zoomed');
  await timeline.press('f');
  await eventually('f does not fit', async () => (await timeline.state()).from === undefined);
  await page.mouse.dblclick(point.x, point.y);
  await eventually('a double click opens nothing', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await world.shoot(page, 'opened');
}

// A double click on a block of the critical path goes to that block, wherever it is.
export async function critical(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const row = level.tracks.findIndex(({ ways }) => ways?.some((way) => way !== null && way.length > 1));
  assert.ok(row >= 0, 'no block of the critical path has a place');
  const { ways, blocks } = level.tracks[row];
  const there = ways.flatMap((way, index) => (way !== null && way.length > 1 ? [{ way, index }] : []));
  const { way, index } = largest(there, (each) => blocks.duration[each.index]);
  const point = await timeline.pointOf(level, row, index);
  await page.mouse.move(point.x, point.y);
  await eventually('the tip does not say where it leads', async () =>
    /double click goes there/.test(await page.locator('.tip.shown').innerText()),
  );
  await page.mouse.dblclick(point.x, point.y);
  await eventually('a double click goes elsewhere', async () => (await timeline.crumbs()).length === way.length);
  await timeline.settled();
  const { label: name } = await timeline.ask('details', { path: way });
  await eventually('the block is not told', async () => (await timeline.details()).includes(name.replace(/^aten::/, '')));
  // The level that it stands in is the last one, and in view.
  const hidden = await page.locator('.levels').evaluate((pane) => pane.scrollHeight - pane.scrollTop - pane.clientHeight);
  assert.ok(hidden < 40, `${hidden} pixels are below the pane`);
  await world.shoot(page);
}

// A stretch of time is chosen with the mouse, or what is seen with a key; what ran in it is what the server adds up.
export async function range(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  await page.keyboard.down('Shift');
  await page.mouse.move(point.x - 180, point.y);
  await page.mouse.down();
  await page.mouse.move(point.x + 70, point.y, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const { box, left, trackWidth } = await timeline.geometry();
  const at = (x) => level.extent[0] + ((x - box.x - left) / trackWidth) * (level.extent[1] - level.extent[0]);
  const sums = await timeline.ask('range', { path: [], from: Math.round(at(point.x - 180)), to: Math.round(at(point.x + 70)) });
  await eventually('no range', async () => (await page.locator('aside h2').first().innerText()).toLowerCase() === 'range');
  assert.ok(sums.kernels.length > 0);
  await eventually('the range says another kernel first', async () =>
    (await timeline.details()).includes(sums.kernels[0].short.replace(/^aten::/, '')),
  );
  assert.equal((await timeline.state()).from, undefined, 'choosing a range panned');
  await world.shoot(page, 'chosen');
  // While the pointer moves, the address lags behind it.
  const pixel = (level.extent[1] - level.extent[0]) / trackWidth;
  const near = (from, to) => Math.abs(Number(from) - sums.from) < 2 * pixel && Math.abs(Number(to) - sums.to) < 2 * pixel;
  await eventually('the address does not say the range', async () => {
    const [, from, to] = (await timeline.state()).range?.split(',') ?? [];
    return near(from, to);
  });
  await page.reload();
  await timeline.settled();
  await eventually(
    'a reload forgets the range',
    async () => (await page.locator('aside h2').first().innerText()).toLowerCase() === 'range',
  );
  await timeline.press('z');
  await eventually('z does not zoom to the range', async () => (await timeline.state()).from !== undefined);
  const { from, to } = await timeline.state();
  assert.ok(near(from, to), 'z zooms elsewhere');
  await timeline.press('Escape');
  await eventually('Escape keeps the range', async () => (await page.locator('aside h2').first().innerText()).toLowerCase() !== 'range');
  await timeline.press('f', 'r');
  await eventually('r does not choose what is seen', async () => /chosen, from 0 to/.test(await timeline.selected()));
}

export async function search(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  await timeline.press('/');
  await page.keyboard.type('conv');
  await eventually('no matches', async () => (await page.locator('.match').count()) > 1);
  await world.shoot(page, 'matches');
  const first = await page.locator('.match .label').first().innerText();
  await page.keyboard.press('Enter');
  const deep = await eventually('the match is not selected', async () => (await timeline.state()).at);
  assert.ok(deep.length > 0 && first.toLowerCase().includes('conv'));
  await timeline.settled();
  await world.shoot(page, 'found');
  await timeline.press('n');
  await eventually('n does not go on', async () => (await timeline.said()).startsWith('2 of'));
  await timeline.press('N');
  await eventually('N does not go back', async () => (await timeline.said()).startsWith('1 of'));
  await timeline.press('/');
  await page.keyboard.type('no such thing at all');
  await eventually('nothing is said about nothing', async () =>
    (await page.locator('.matches').innerText()).includes('Nothing in any step'),
  );
}

export async function reload(world) {
  const { timeline, page, server } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  await page.mouse.dblclick(point.x, point.y);
  await eventually('nothing opened', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await timeline.press('ArrowDown', '+', '+');
  await eventually('no zoom', async () => {
    const { to, zoom } = await timeline.state();
    return to ?? zoom;
  });
  const [state, crumbs] = [await timeline.addressAtRest(), await timeline.crumbs()];
  // A second tab shows what the address says and goes its own way.
  const other = await TimelinePage.open(world.browser, server.address, { fragment: new URL(page.url()).hash.slice(1) });
  world.closing(() => other.page.context().close());
  await other.settled();
  assert.deepEqual(await other.crumbs(), crumbs);
  await other.press('Escape');
  await eventually('the second tab does not close its level', async () => (await other.crumbs()).length === 1);
  await page.reload();
  await timeline.settled();
  assert.deepEqual(await timeline.crumbs(), crumbs);
  assert.deepEqual(await timeline.state(), state);
}
