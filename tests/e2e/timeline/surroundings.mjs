// The same page elsewhere: another server, no token, other themes and sizes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DEVICE, LARGE, OLD, open, stepLevel, widest, differ } from './open.mjs';
import { eventually, serve, TimelinePage } from './page.mjs';

export async function restart(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-restart-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const first = await serve(world.hotlens, world.trace(DEVICE), { folder });
  const timeline = await TimelinePage.open(world.browser, first.address);
  world.closing(() => timeline.page.context().close());
  await timeline.settled();
  await first.stop();
  await eventually('nothing is said about the lost connection', async () => (await timeline.said()).includes('lost'));
  await world.shoot(timeline.page, 'lost');
  // What was loaded stays on the screen, and its keys work.
  assert.ok((await timeline.crumbs()).length === 1);
  const second = await serve(world.hotlens, world.trace(DEVICE), { folder, port: first.port });
  world.closing(second.stop);
  await eventually('nothing is said about the old token', async () => (await timeline.said()).includes('token is not valid'));
  const fresh = await TimelinePage.open(world.browser, second.address, { fragment: new URL(timeline.page.url()).hash.slice(1) });
  world.closing(() => fresh.page.context().close());
  await fresh.settled();
}

export async function admission(world) {
  const server = await serve(world.hotlens, world.trace(OLD));
  world.closing(server.stop);
  const page = await (await world.browser.newContext()).newPage();
  world.closing(() => page.context().close());
  for (const address of [`${server.address}x`, `http://127.0.0.1:${server.port}/?token=`]) {
    const answer = await page.goto(address);
    assert.equal(answer.status(), 403, address);
    assert.ok((await page.locator('body').innerText()).trim().length > 10, 'no sentence');
  }
  await page.goto(`http://127.0.0.1:${server.port}/`);
  await eventually('a page without a token does not say so', async () =>
    (await page.locator('.said').innerText()).includes('Open the address'),
  );
  const answer = await page.goto(server.address);
  await eventually('the token stays in the address bar', () => !page.url().includes('token'));
  await page.reload();
  await eventually('a page that is loaded again has no token', async () => (await page.locator('main .crumbs button').count()) > 0);
  assert.ok(!page.url().includes('token'), page.url());
  const policy = answer.headers()['content-security-policy'] ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.ok(!policy.includes('unsafe'), policy);
}

export async function themes(world) {
  const grounds = new Set();
  const texts = new Set();
  for (const options of [
    { colorScheme: 'dark' },
    { colorScheme: 'light' },
    { colorScheme: 'dark', contrast: 'more' },
    { forcedColors: 'active' },
  ]) {
    const { timeline, page } = await open(world, world.trace(DEVICE), options);
    const box = await page.locator('.levels').boundingBox();
    grounds.add(String(await timeline.colourAt({ x: box.x + 3, y: box.y + 3 })));
    texts.add(await page.evaluate(() => getComputedStyle(document.querySelector('.dim')).color));
    await world.shoot(page, Object.values(options).join('-'));
  }
  assert.ok(grounds.size >= 2, `grounds ${[...grounds]}`);
  assert.ok(texts.size >= 3, `texts ${[...texts]}`);
}

// A long title of the memory, and what it is made of, in a panel beside the code.
export async function narrow(world) {
  const { timeline, page } = await open(world, world.trace(LARGE), { viewport: { width: 200, height: 600 } });
  await eventually('nothing says what the memory is made of', () => page.locator('.breakdown .legend .key').first().isVisible());
  await timeline.settled();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 200, 'the page is wider than its window');
  await page.locator('.breakdown').scrollIntoViewIfNeeded();
  await world.shoot(page);
}

export async function sizes(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  for (const [width, height] of [
    [200, 600],
    [420, 900],
    [900, 700],
    [1389, 868],
    [2560, 1400],
    [4000, 1200],
    [1389, 300],
  ]) {
    await page.setViewportSize({ width, height });
    await timeline.settled();
    await eventually(`${width}: the picture keeps its old width`, () =>
      page.evaluate(
        () =>
          Math.abs(document.querySelector('.levels canvas').getBoundingClientRect().width - document.querySelector('.levels').clientWidth) <
          1.5,
      ),
    );
    const seen = await page.evaluate(() => {
      const canvas = document.querySelector('.levels canvas').getBoundingClientRect();
      const pane = document.querySelector('.levels');
      return { wide: document.documentElement.scrollWidth, canvas: canvas.width, pane: pane.clientWidth, tall: pane.clientHeight };
    });
    assert.ok(seen.wide <= width, `${width}: the page is ${seen.wide} wide`);
    assert.ok(Math.abs(seen.canvas - seen.pane) < 1.5, `${width}: canvas ${seen.canvas} in ${seen.pane}`);
    assert.ok(seen.tall >= 80, `${width}×${height}: only ${seen.tall} pixels for the levels`);
    const point = await timeline.pointOf(level, row, index);
    const { box } = await timeline.geometry();
    if (point.y + 20 > box.y + box.height) continue; // the pane is too low for this track
    const ground = await timeline.colourAt({ x: point.x, y: point.y + 16 });
    assert.ok(differ(await timeline.colourAt({ x: point.x, y: point.y - 11 }), ground) > 15, `${width}: no block where it should be`);
    await world.shoot(page, `${width}x${height}`);
  }
}
