// node tests/bench/timeline_frames.mjs HOTLENS TRACE [--shot FILE]
// What the page costs in Chromium with a trace of any size: the first picture of a fresh tab while the profile is open already, and each frame
// while the wheel zooms and the mouse pans: script, style, layout, paint and commit of the main thread, raster of the others. Wall time is what
// a person waits for on this machine now; thread time leaves out what else runs beside it.
import { launch, serve, TimelinePage } from "../e2e/timeline/page.mjs";

const [hotlens, trace] = process.argv.slice(2);
const TABS = 9;
const MOVES = 90;
const LEFT_ALONE_MS = 1200;
const CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "cc", "viz"];
const MAIN = new Set(["FireAnimationFrame", "EventDispatch", "UpdateLayoutTree", "Layout", "PrePaint", "Paint", "Layerize", "Commit"]);

const sorted = (values) => values.toSorted((a, b) => a - b);
const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
const told = (values) => `p50 ${at(values, 0.5).toFixed(1)}, p95 ${at(values, 0.95).toFixed(1)}, longest ${at(values, 1).toFixed(1)} ms`;

// Nothing is asked of a page while it opens: a question of the driver compiles scripts of its own in it.
async function firstPictures(browser, address) {
  const times = [];
  for (let tab = 0; tab <= TABS; tab++) {
    const timeline = await TimelinePage.open(browser, address, { waitUntil: "commit" });
    await timeline.page.waitForTimeout(LEFT_ALONE_MS);
    await timeline.page.waitForFunction(() => performance.getEntriesByName("hotlens first picture").length > 0);
    const seen = () => [...performance.getEntriesByType("paint"), ...performance.getEntriesByName("hotlens first picture")].map(({ name, startTime }) => [name, startTime]);
    if (tab > 0) times.push(Object.fromEntries(await timeline.page.evaluate(seen)));
    await timeline.page.context().close();
  }
  return times;
}

// The outermost events of a frame, so that nothing counts twice: a frame ends with its commit.
function frames(events) {
  const [first] = events.filter(({ name }) => name === "FireAnimationFrame");
  const own = events.filter(({ ph, name, pid, tid }) => ph === "X" && pid === first?.pid && tid === first?.tid && MAIN.has(name));
  const list = [];
  let [wall, thread, reached, drawn] = [0, 0, 0, false];
  for (const event of own.toSorted((a, b) => a.ts - b.ts)) {
    if (event.ts < reached) continue;
    reached = event.ts + event.dur;
    wall += event.dur / 1000;
    thread += (event.tdur ?? event.dur) / 1000;
    drawn ||= event.name === "FireAnimationFrame";
    if (event.name !== "Commit") continue;
    if (drawn) list.push({ wall, thread });
    [wall, thread, drawn] = [0, 0, false];
  }
  return list;
}

async function moved(browser, address) {
  const timeline = await TimelinePage.open(browser, address);
  await timeline.settled();
  const { page } = timeline;
  await timeline.press("ArrowRight", "Enter");
  await timeline.settled();
  const { box, left, trackWidth } = await timeline.geometry();
  const x = box.x + left + trackWidth / 2;
  let y = box.y + box.height - 4;
  const isOver = () => page.evaluate(() => document.querySelector(".levels").classList.contains("over"));
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
  console.log(`${pictures.length} tabs: first picture ${of("hotlens first picture")}; first paint ${of("first-paint")}`);
  const events = await moved(browser, server.address);
  const list = frames(events);
  const raster = events.filter(({ ph, name }) => ph === "X" && name === "RasterTask");
  console.log(`${list.length} frames, main thread: ${told(list.map(({ wall }) => wall))}; thread time ${told(list.map(({ thread }) => thread))}`);
  console.log(`${raster.length} raster tasks: thread time ${told(raster.map(({ dur, tdur }) => (tdur ?? dur) / 1000))}`);
} finally {
  await browser.close();
  await server.stop();
}
