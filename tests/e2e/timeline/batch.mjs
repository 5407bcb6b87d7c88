// The bars of throughput and memory by batch size, on a step that was really recorded and replayed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openInEditor } from './editor.mjs';
import { open, openPage } from './open.mjs';
import { eventually } from './page.mjs';
import { bundleIn, ownFolder, run } from './recording.mjs';

const SCRIPT = `import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

batch_size = 8
model = nn.Sequential(nn.Linear(4096, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(8 * 60, 4096), torch.randint(0, 4, (8 * 60,)))
for x, y in DataLoader(data, batch_size):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
`;

async function record(world) {
  const folder = ownFolder(world, 'batch');
  fs.writeFileSync(path.join(folder, 'train.py'), SCRIPT);
  await run(world, folder, ['run', '--warmup', '1', '--steps', '2', '--batch-sizes', '6,8'], ['train.py']);
  return folder;
}

const predict = (world, folder) => run(world, folder, ['predict', 'latest', '--batch-size', '4,16,32'], []);

const openServed = (world, folder, options) => open(world, [], { folder, ...options });

const handleOf = (page, name) => page.getByRole('slider', { name: `batch size, by ${name}` });
const told = (page) => page.locator('.batch .told').innerText();
const sizes = (page) =>
  Promise.all(['throughput', 'peak memory'].map(async (name) => Number(await handleOf(page, name).getAttribute('aria-valuenow'))));
const middle = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

// Presses the handle of the memory and moves it to the tick of a point, without letting go.
async function dragTo(page, point) {
  const from = await middle(handleOf(page, 'peak memory'));
  const to = await middle(page.locator('.gauge:nth-child(2) .tick').nth(point));
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, from.y);
  const between = await sizes(page);
  await page.mouse.move(to.x, from.y);
  return between;
}

// Without a prediction the page says what to type; what a terminal predicts then is drawn without a reload.
export async function batchServed(world) {
  const folder = await record(world);
  const { timeline, page } = await openServed(world, folder);
  const section = page.locator('.batch');
  await eventually('nothing says how sizes are predicted', async () =>
    /hotlens predict \S+ --batch-size 4,16,32/.test(await section.innerText()),
  );
  assert.equal(await section.locator('.gauge').first().isVisible(), false);
  assert.equal(await section.getByRole('button', { name: 'Predict' }).count(), 0, 'a page without an editor offers to run something');
  await world.shoot(page, 'before');
  await predict(world, folder);
  await eventually('the prediction is not drawn', async () => /^8, measured: \d/.test(await told(page)));
  assert.match(await section.innerText(), /predicted: 4, 16 and 32/);
  await world.shoot(page, 'measured');

  // Keys on a handle: the other one follows, and nothing else moves.
  const selected = await timeline.selected();
  await handleOf(page, 'throughput').focus();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await sizes(page), [9, 9]);
  assert.match(await told(page), /^8 → 9: .*samples\/s.*, ≈ [\d.]+ [kMG]B of /);
  assert.equal(await timeline.selected(), selected);
  await eventually('nothing says where to set it', async () => /in train\.py:5:\s*batch_size = 9/.test(await section.innerText()));
  await page.keyboard.press('End');
  assert.deepEqual(await sizes(page), [32, 32]);
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await sizes(page), [32, 32], 'beyond the largest predicted size');
  await page.keyboard.press('Escape');
  assert.deepEqual(await sizes(page), [8, 8]);
  await eventually('the measured size is offered', async () => (await section.locator('.actions').innerText()) === '');

  // A drag shows sizes on the way; Escape takes it back, its end offers the line to set.
  const [between, other] = await dragTo(page, 2);
  assert.ok(between > 8 && between < 16 && between === other, `${between} ${other}`);
  assert.deepEqual(await sizes(page), [16, 16]);
  await world.shoot(page, 'dragging');
  await page.keyboard.press('Escape');
  await page.mouse.up();
  assert.deepEqual(await sizes(page), [8, 8], 'Escape does not take a drag back');
  await dragTo(page, 2);
  await page.mouse.up();
  assert.deepEqual(await sizes(page), [16, 16]);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await section.getByRole('button', { name: 'copy' }).click();
  await eventually('the line is not copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'batch_size = 16');
  assert.equal(fs.readFileSync(path.join(folder, 'train.py'), 'utf8'), SCRIPT);
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1200, 500]) {
      await page.setViewportSize({ width, height: 868 });
      await timeline.settled();
      await section.scrollIntoViewIfNeeded();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: the bars make the page wide`);
      const [track, number] = await Promise.all(
        ['.track', '.number'].map((name) => section.locator(`.gauge ${name}`).first().boundingBox()),
      );
      assert.ok(track.width >= 80 && track.x + track.width <= number.x, `${width}: the bar lies over its number`);
      await world.shoot(page, `${width}-${colorScheme}`);
    }
  }
}

// The end of memory, sizes without a time and texts that are markup, as anybody's bundle may have them.
export async function batchEnds(world) {
  const folder = await record(world);
  const bundle = bundleIn(folder);
  const markup = '<img src=x onerror=alert(1)>';
  const point = (batch, ms, gb, method = 'replay') => ({
    batch_size: batch,
    ...(ms === undefined ? { note: markup } : { step_ns: ms * 1e6, low_ns: ms * 0.95e6, high_ns: ms * 1.05e6 }),
    peak_bytes: gb * 1e9,
    method,
  });
  const points = [point(4, 6, 4), point(8, 10, 6, 'run'), point(16, 16, 10), point(32, 36, 18), point(64, undefined, 34, 'line')];
  const refused = [{ batch_size: 7, reason: markup }];
  const memory = { bytes: 24e9, of: markup, largest_batch_size: 44 };
  fs.writeFileSync(
    path.join(bundle, 'batch_sizes.json'),
    JSON.stringify({ schema: 'hotlens.predict/1', profile: path.basename(bundle), points, refused, memory }),
  );
  const { page } = await openServed(world, folder);
  await eventually('the bars are not drawn', async () => /^8, measured: 800 samples\/s, 6\.00 GB of 24\.0 GB/.test(await told(page)));
  assert.equal(await page.locator('.batch .beyond').count(), 1);
  assert.equal(await page.locator('.batch img').count(), 0);
  assert.ok((await page.locator('.batch .known').innerText()).includes(`7 is not predicted: ${markup}`));
  await handleOf(page, 'peak memory').focus();
  await page.keyboard.press('PageUp');
  assert.match(await told(page), /^8 → 16: ≈ \+25 % samples\/s \(\+19…\+32\), ≈ 10\.0 GB of 24\.0 GB$/);
  await page.keyboard.press('End');
  assert.match(await told(page), /^8 → 64: samples\/s not known, ≈ 34\.0 GB of 24\.0 GB, does not fit: up to 44 fit into 24\.0 GB/);
  assert.ok(!/batch_size = 64/.test(await page.locator('.batch').innerText()), 'a size that does not fit is offered');
  await world.shoot(page, 'beyond');
}

// Behind the page is an editor: the size is set by one edit of the number, if the text is still the one that was measured.
export async function batchInEditor(world) {
  const folder = await record(world);
  await predict(world, folder);
  const { editor, uri, address } = await openInEditor(world, folder, 'train.py');
  const { page } = await openPage(world, address);
  await eventually('the bars are not drawn', async () => /^8, measured/.test(await told(page)));
  await dragTo(page, 3);
  await page.mouse.up();
  assert.deepEqual(editor.edits(), [], 'something is edited before anybody asked for it');
  await world.shoot(page, 'offer');
  await page.getByRole('button', { name: 'Set 32 in train.py:5' }).click();
  await eventually('nothing is said of the edit', async () => /train\.py:5 sets 32 now/.test(await page.locator('.batch').innerText()));
  const range = { start: { line: 4, character: 13 }, end: { line: 4, character: 14 } };
  const edits = [{ range, newText: '32' }];
  assert.deepEqual(
    editor.edits().map(({ edit }) => edit),
    [{ documentChanges: [{ textDocument: { uri, version: 1 }, edits }] }],
  );
  assert.deepEqual(await sizes(page), [8, 8], 'the bars tell what was measured until it is measured again');
  await world.shoot(page, 'set');
  editor.send({ method: 'textDocument/didChange', params: { textDocument: { uri, version: 2 }, contentChanges: [{ range, text: '32' }] } });
  await dragTo(page, 2);
  await page.mouse.up();
  await page.getByRole('button', { name: 'Set 16 in train.py:5' }).click();
  await eventually('a text that changed is edited', async () => /the text changed since/.test(await page.locator('.batch').innerText()));
  assert.equal(editor.edits().length, 1);
}
