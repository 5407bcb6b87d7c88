// What the page says beside its picture: warnings, and what stands at the pointer.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { open } from './open.mjs';
import { eventually } from './page.mjs';

const event = (cat, name, ts, dur, args = {}) => ({ ph: 'X', cat, name, pid: 1, tid: 1, ts, dur, args });

// Without marks of steps: the whole trace is one, and the page warns of it.
async function openUnmarked(world, options) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-words-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const traceEvents = [event('cpu_op', 'aten::linear', 0, 400), event('cpu_op', 'aten::relu', 500, 400)];
  fs.writeFileSync(path.join(folder, 't.json'), JSON.stringify({ schemaVersion: 1, traceEvents }));
  return open(world, path.join(folder, 't.json'), { folder, ...options });
}

// A click opens what the warnings say, at every width; another closes it.
async function warningsOpen(world, width) {
  const { timeline, page } = await openUnmarked(world, { viewport: { width, height: 800 } });
  const { warnings } = await timeline.ask('overview', {});
  assert.ok(warnings.length > 0, 'a trace without a warning');
  const summary = page.locator('header .warnings summary');
  const told = page.locator('header .warnings li').first();
  assert.ok(!(await told.isVisible()), 'warnings are told before anybody asks');
  await summary.click();
  await eventually('a click does not open the warnings', () => told.isVisible());
  assert.equal((await told.innerText()).trim(), warnings[0].trim());
  await world.shoot(page, `${width}`);
  const { x, width: long } = await told.boundingBox();
  assert.ok(x >= 0 && x + long <= width, `a warning from ${x} to ${x + long}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the warnings make the page wide');
  await summary.click();
  await eventually('a click does not close the warnings', async () => !(await told.isVisible()));
}

export const warningsWide = (world) => warningsOpen(world, 1280);
export const warningsNarrow = (world) => warningsOpen(world, 400);

// What stands at the pointer goes with the view that it tells of: a key that zooms leaves no words about what was there.
export async function tipsGo(world) {
  const { timeline, page } = await openUnmarked(world, {});
  const tip = page.locator('.tip.shown');
  const pane = await page.locator('.levels').boundingBox();
  const pointed = async () => {
    for (let y = pane.y + 30; y < pane.y + pane.height; y += 12) {
      await page.mouse.move(pane.x + pane.width * 0.3, y);
      if (await tip.isVisible()) return true;
    }
    return false;
  };
  for (const key of ['+', 'd', 'f']) {
    assert.ok(await pointed(), `nothing is told at the pointer before ${key}`);
    await timeline.press(key);
    await eventually(`what the pointer told of outlives ${key}`, async () => !(await tip.isVisible()));
    await page.mouse.move(pane.x + 2, pane.y + 2);
  }
}
