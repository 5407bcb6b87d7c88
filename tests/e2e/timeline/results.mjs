// What comes out: files, answers that are what the page's types say, frames in time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEVICE, LARGE, open, stepLevel, label, widest } from './open.mjs';
import { TimelinePage } from './page.mjs';

const PAGE = fileURLToPath(new URL('../../../editor_clients/timeline', import.meta.url));

// The picture and the window as files: real text in the SVG, an image in the PNG, a trace that can be read for Perfetto.
export async function exports(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const save = async (key) => {
    const [download] = await Promise.all([page.waitForEvent('download'), timeline.press(key)]);
    return { name: download.suggestedFilename(), data: fs.readFileSync(await download.path()) };
  };
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const svg = await save('e');
  assert.match(svg.name, /\.svg$/);
  assert.match(svg.data.toString(), /^<svg /);
  assert.ok(svg.data.toString().includes(`>${label(level.tracks[row], index)} `), "the widest block's name is not in the picture");
  const png = await save('E');
  assert.deepEqual([...png.data.subarray(1, 4)], [...Buffer.from('PNG')]);
  const trace = JSON.parse((await save('p')).data.toString());
  assert.ok((trace.traceEvents ?? trace).length > 10, 'the window holds nothing');
}

// What the server answers is what the page's types say: the compiler checks the answers themselves, missing and unknown keys included.
export async function messages(world) {
  const { timeline } = await open(world, world.trace(DEVICE));
  const level = await timeline.ask('level', { path: [], width: 200 });
  const { row, index } = widest(level);
  const widestPath = [level.tracks[row].blocks.segment[index]];
  const { matches } = await timeline.ask('search', { query: 'conv' });
  const found = matches.find((match) => match.kind === 'module' && match.path !== undefined)?.path ?? widestPath;
  const { profile } = await timeline.ask('overview', {});
  const sides = { before: profile.id, after: profile.id, beforeStep: 0, afterStep: 1 };
  const counterparts = [[], widestPath, found].map((each) =>
    timeline.ask('counterpart', { step: 1, path: each, other: profile.id, otherStep: 0, side: 'after' }),
  );
  const answers = {
    compare: [await timeline.ask('compare', sides)],
    counterpart: await Promise.all(counterparts),
    profiles: [await timeline.ask('profiles', {})],
    overview: [await timeline.ask('overview', {})],
    recording: [await timeline.ask('recording', { width: 300 })],
    level: [level, await timeline.ask('level', { path: widestPath, width: 50, unfold: true })],
    details: await Promise.all([[], widestPath, found].map((each) => timeline.ask('details', { path: each }))),
    arrows: [await timeline.ask('arrows', { path: found })],
    range: [await timeline.ask('range', { path: [], from: 0, to: Math.round(level.extent[1] / 3) })],
    search: [{ ...(await timeline.ask('search', { query: 'a', limit: 5 })) }],
    breakdown: await Promise.all(['time', 'memory'].map((metric) => timeline.ask('breakdown', { metric }))),
  };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-messages-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'answers.ts');
  const types = `import type { Result } from ${JSON.stringify(path.join(PAGE, 'src/server/requests'))};`;
  const lines = Object.entries(answers).flatMap(([asked, all]) =>
    all.map((answer, at) => `export const ${asked}${at}: Result<'hotlens/timeline/${asked}'> = ${JSON.stringify(answer)};`),
  );
  fs.writeFileSync(file, [types, ...lines].join('\n'));
  const settings = JSON.parse(fs.readFileSync(path.join(PAGE, 'tsconfig.json'), 'utf8'));
  const tsconfig = path.join(folder, 'tsconfig.json');
  fs.writeFileSync(tsconfig, JSON.stringify({ compilerOptions: { ...settings.compilerOptions, types: [] }, files: [file] }));
  const compiled = spawnSync(process.execPath, [path.join(PAGE, 'node_modules/typescript/bin/tsc'), '-p', tsconfig], { encoding: 'utf8' });
  assert.equal(compiled.status, 0, compiled.stdout.slice(0, 1500));
}

// Frames while the wheel turns and the mouse drags, on the largest shared trace: the page's own work, measured around every frame.
export async function frames(world) {
  const { server, timeline, page } = await open(world, world.trace(LARGE));
  // The first picture on a second page: the profile is open by now.
  const other = await TimelinePage.open(world.browser, server.address);
  world.closing(() => other.page.context().close());
  await other.settled();
  const first = await other.page.evaluate(() => performance.getEntriesByName('hotlens first picture')[0]?.startTime);
  console.log(`      first picture ${Math.round(first)} ms after the address was opened`);
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  await page.mouse.dblclick(point.x, point.y);
  await timeline.settled();
  await page.evaluate(() => {
    window.frameTimes = [];
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (draw) =>
      ask((at) => {
        const begun = performance.now();
        draw(at);
        window.frameTimes.push(performance.now() - begun);
      });
  });
  await page.mouse.move(point.x, point.y);
  for (let turn = 0; turn < 60; turn++) await page.mouse.wheel(0, turn % 30 < 15 ? -120 : 120);
  await page.mouse.wheel(0, -900);
  await page.mouse.down();
  for (let move = 0; move < 60; move++) await page.mouse.move(point.x + ((move * 37) % 400) - 200, point.y);
  await page.mouse.up();
  const times = (await page.evaluate(() => window.frameTimes)).sort((a, b) => a - b);
  const p = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  console.log(
    `      ${times.length} frames: p50 ${p(0.5).toFixed(1)} ms, p95 ${p(0.95).toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms`,
  );
  assert.ok(times.length >= 20, 'the page did not draw');
  assert.ok(p(0.95) < 50, `a frame takes ${p(0.95)} ms`); // far above the aim: the machine of a test is busy
}
