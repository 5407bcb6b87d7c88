// node tests/bench/timeline_frames.mjs HOTLENS TRACE [--shot FILE]
// What the page costs in Chromium with a trace of any size: the first picture of a fresh tab while the profile is open already, and each frame
// while the wheel zooms and the mouse pans: script, style, layout, paint and commit of the main thread, raster of the others. Wall time is what
// a person waits for on this machine now; thread time leaves out what else runs beside it.
import { launch, serve, TimelinePage } from '../e2e/timeline/page.mjs';
import { CATEGORIES, frames, told } from './chromium_frames.mjs';

const [hotlens, trace] = process.argv.slice(2);
const TABS = 9;
const MOVES = 90;
const LEFT_ALONE_MS = 1200;

// Nothing is asked of a page while it opens: a question of the driver compiles scripts of its own in it.
async function firstPictures(browser, address) {
  const times = [];
  for (let tab = 0; tab <= TABS; tab++) {
    const timeline = await TimelinePage.open(browser, address, { waitUntil: 'commit' });
    await timeline.page.waitForTimeout(LEFT_ALONE_MS);
    await timeline.page.waitForFunction(() => performance.getEntriesByName('hotlens first picture').length > 0);
    const seen = () =>
      [...performance.getEntriesByType('paint'), ...performance.getEntriesByName('hotlens first picture')].map(({ name, startTime }) => [
        name,
        startTime,
      ]);
    if (tab > 0) times.push(Object.fromEntries(await timeline.page.evaluate(seen)));
    await timeline.page.context().close();
  }
  return times;
}

async function moved(browser, address) {
  const timeline = await TimelinePage.open(browser, address);
  await timeline.settled();
  const { page } = timeline;
  await timeline.press('ArrowRight', 'Enter');
  await timeline.settled();
  const { box, left, trackWidth } = await timeline.geometry();
  const x = box.x + left + trackWidth / 2;
  let y = box.y + box.height - 4;
  const isOver = () => page.evaluate(() => document.querySelector('.levels').classList.contains('over'));
  for (await page.mouse.move(x, y); y > box.y && !(await isOver()); ) await page.mouse.move(x, (y -= 8)); // the lowest track
  await browser.startTracing(page, { categories: CATEGORIES });
  for (let move = 0; move < MOVES; move++) {
    await page.mouse.wheel(0, move % 30 < 20 ? -160 : 160);
    await page.waitForTimeout(20);
  }
  await page.mouse.down();
  for (let move = 0; move < MOVES; move++) {
    await page.mouse.move(x + ((move * 37) % 400) - 200, y);
    await page.waitForTimeout(20);
  }
  await page.mouse.up();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await page.context().close();
  return traceEvents;
}

const server = await serve(hotlens, trace);
const browser = await launch();
try {
  const pictures = await firstPictures(browser, server.address);
  const of = (name) => told(pictures.map((each) => each[name]));
  console.log(`${pictures.length} tabs: first picture ${of('hotlens first picture')}; first paint ${of('first-paint')}`);
  const events = await moved(browser, server.address);
  const list = frames(events);
  const raster = events.filter(({ ph, name }) => ph === 'X' && name === 'RasterTask');
  console.log(
    `${list.length} frames, main thread: ${told(list.map(({ wall }) => wall))}; thread time ${told(list.map(({ thread }) => thread))}`,
  );
  console.log(`${raster.length} raster tasks: thread time ${told(raster.map(({ dur, tdur }) => (tdur ?? dur) / 1000))}`);
} finally {
  await browser.close();
  await server.stop();
}
