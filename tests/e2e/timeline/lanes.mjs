// What stands below the tracks of a step: the threads of the host, memory and the device's queue over time.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { LARGE, open, stepLevel } from './open.mjs';
import { eventually } from './page.mjs';

const [HEAD, FLAME, COUNTER, COUNTER_GAP, RANK] = [20, 17, 38, 8, 24]; // pixels of a row, as the page lays them out

// Where rows begin below the tracks, and what x stands for a moment of the step.
async function below(timeline, level) {
  const { box, scroll, left, trackWidth, firstTrack, track } = await timeline.geometry();
  const [from, to] = level.extent;
  return {
    top: box.y + firstTrack + level.tracks.length * track - scroll,
    x: (ns) => box.x + left + ((ns - from) / (to - from)) * trackWidth,
    left: box.x + 12,
  };
}

const tip = (page) => page.locator('.tip.shown').innerText();

const opened = (timeline) => timeline.state().then(({ lanes = '' }) => lanes.split('/').filter((each) => each !== ''));

// A click on its name opens a thread; a click on a function of one's own leads to its line; one key closes everything.
export async function threads_open_to_their_functions(world) {
  const { timeline, page } = await open(world, world.trace(LARGE), { colorScheme: 'dark' });
  const level = await stepLevel(timeline);
  const { threads } = await timeline.ask('lanes', { width: 1140, open: ['main'] });
  const several = threads.length > 1 ? HEAD : 0;
  const { top, x, left } = await below(timeline, level);
  if (several > 0) {
    await page.mouse.click(left + 60, top + HEAD / 2);
    await eventually('a click does not list the threads', async () => (await opened(timeline)).includes('threads'));
  }
  await page.mouse.click(left + 60, top + several + HEAD / 2);
  await eventually('a click does not open the main thread', async () => (await opened(timeline)).includes('main'));
  await timeline.settled();
  const { flame } = threads[0];
  // The widest bar of one row that leads to a line, else the widest of all.
  const bars = flame.rows.flatMap((row, at) => row.start.map((start, index) => ({ row, at, index, start, duration: row.duration[index] })));
  const placed = bars.filter(({ row, index }) => row.place[index] >= 0);
  const wide = (placed.length > 0 ? placed : bars).reduce((best, each) => (each.duration > best.duration ? each : best));
  const point = [x(wide.start + wide.duration / 2), top + several + HEAD + wide.at * FLAME + FLAME / 2];
  const label = flame.labels[wide.row.label[wide.index]];
  await eventually('a function has no tip', async () => {
    await page.mouse.move(point[0] + Math.random(), point[1]);
    return (await page.locator('.tip.shown').count()) > 0 && (await tip(page)).includes(label);
  });
  await world.shoot(page, 'open');
  if (placed.length > 0) {
    const { file, line } = flame.places[wide.row.place[wide.index]];
    assert.ok((await tip(page)).includes(`:${line + 1}`), await tip(page));
    await page.mouse.click(...point);
    await eventually('a function does not lead to its line', async () => (await timeline.said()).includes(`${file}:${line + 1}`));
  }
  await page.locator('.levels').focus();
  await timeline.press('t');
  await eventually('t does not close the threads', async () => (await opened(timeline)).length === 0);
  await timeline.press('t');
  await eventually('t does not open the threads', async () => (await opened(timeline)).includes('main'));
  await page.reload();
  await timeline.settled();
  assert.ok((await opened(timeline)).includes('main'), 'a reload closes the threads');
}

// The value at the pointer, the peak that leads to what ran then, and a counter that a click on its name closes.
export async function counters_tell_their_value(world) {
  const { timeline, page } = await open(world, world.trace(LARGE), { colorScheme: 'light' });
  const level = await stepLevel(timeline);
  const { counters } = await timeline.ask('lanes', { width: 1140, open: [] });
  const { memoryPeakAt } = await timeline.ask('overview', {});
  const scrolledUp = async () => {
    await page.evaluate(() => document.querySelector('.levels').scrollTo(0, 0));
    return below(timeline, level);
  };
  for (const [position, { unit, peak, id }] of counters.entries()) {
    const { top, x } = await scrolledUp();
    const middle = top + HEAD + position * (COUNTER + COUNTER_GAP) + COUNTER_GAP + COUNTER / 2;
    const words = unit === 'bytes' ? 'held' : 'wait for the device';
    await eventually(`${id} tells no value`, async () => {
      await page.mouse.move(x(level.extent[0]) + 40 + Math.random(), middle);
      return (await page.locator('.tip.shown').count()) > 0 && (await tip(page)).includes(words);
    });
    if (unit !== 'bytes') continue;
    await eventually('the peak is not told', async () => {
      await page.mouse.move(x(peak.time) + Math.random(), middle);
      return (await tip(page)).includes('the most that is held');
    });
    await world.shoot(page, 'peak');
    if (memoryPeakAt?.path === undefined) continue;
    await page.mouse.click(x(peak.time), middle);
    const last = memoryPeakAt.path.at(-1);
    await eventually('the peak does not lead to what ran then', async () =>
      decodeURIComponent((await timeline.state()).at ?? '').includes(last),
    );
    await timeline.settled();
  }
  const [first] = counters;
  assert.ok(first !== undefined, 'nothing is counted');
  const { top, left } = await scrolledUp();
  await page.mouse.click(left + 4, top + HEAD + COUNTER_GAP + COUNTER / 2);
  await eventually('a click on its name does not close a counter', async () => (await opened(timeline)).includes(first.id));
}

// A step of 1,000 µs: work, then from 300 + `late` on an exchange that all leave at 560. The clock of the second rank is far ahead.
function rankTrace(file, rank, late) {
  const at = rank * 7e6;
  const event = (cat, name, ts, dur, args = {}, [pid, tid] = cat === 'kernel' ? [0, 7] : [9, 1]) => ({
    ph: 'X',
    cat,
    name,
    pid,
    tid,
    ts: at + ts,
    dur,
    args,
  });
  const exchange = {
    'Collective name': 'allreduce',
    'Process Group Name': '0',
    'Group size': 2,
    Seq: 1,
    'In msg nelems': 64,
    dtype: 'Float',
  };
  const traceEvents = [
    event('user_annotation', 'ProfilerStep#0', 0, 1000),
    event('cpu_op', 'aten::mm', 10, 60),
    event('cuda_runtime', 'cudaLaunchKernel', 20, 4, { correlation: 1 }),
    event('kernel', 'sgemm', 40, 100 + late, { correlation: 1 }),
    event('cuda_runtime', 'cudaLaunchKernel', 80, 4, { correlation: 2 }),
    event('kernel', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', 300 + late, 260 - late, { correlation: 2, ...exchange }),
  ];
  fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, distributedInfo: { backend: 'nccl', rank, world_size: 2 }, traceEvents }));
}

// Ranks of a folder lie under each other on one axis; who waits says so, and a click shows the other rank.
export async function ranks_are_lanes_on_one_axis(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-ranks-'));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  fs.mkdirSync(path.join(folder, 'run'));
  rankTrace(path.join(folder, 'run', 'rank0.json'), 0, 0);
  rankTrace(path.join(folder, 'run', 'rank1.json'), 1, 200);
  const { timeline, page } = await open(world, 'run', { folder, colorScheme: 'dark' });
  const level = await stepLevel(timeline);
  const { ranks } = await timeline.ask('lanes', { width: 1140, open: [] });
  assert.deepEqual(
    ranks.map(({ rank, waits }) => [rank, waits]),
    [
      [0, 200_000],
      [1, 0],
    ],
  );
  const { top, x } = await below(timeline, level);
  await eventually('a rank does not tell its waiting', async () => {
    await page.mouse.move(x(400_000) + Math.random(), top + HEAD + RANK / 2);
    return (await page.locator('.tip.shown').count()) > 0 && (await tip(page)).includes('waits in collectives');
  });
  await world.shoot(page, 'lanes');
  await page.mouse.click(x(400_000), top + HEAD + RANK + RANK / 2);
  await eventually('a click does not show the other rank', async () => (await timeline.state()).profile === 'rank1.json');
}
