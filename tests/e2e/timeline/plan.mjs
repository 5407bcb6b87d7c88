// Which blocks to checkpoint, as a curve with a budget, and what the ledger knows of other changes: on a small GPT that was really recorded
// and replayed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { openInEditor } from './editor.mjs';
import { open, openPage } from './open.mjs';
import { eventually } from './page.mjs';
import { bundleIn, ownFolder, run } from './recording.mjs';

const SCRIPT = `import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, words=128, width=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(4))
        self.head = nn.Linear(width, words)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
model = Gpt()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    words = torch.randint(128, (BATCH, LENGTH))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    loss.backward()
    optimizer.step()
`;

async function record(world, batch = 16, length = 65) {
  const folder = ownFolder(world, 'plan');
  fs.writeFileSync(path.join(folder, 'train.py'), SCRIPT.replace('BATCH', String(batch)).replace('LENGTH', String(length)));
  await run(world, folder, ['run', '--warmup', '1', '--steps', '2'], ['train.py']);
  return folder;
}

const plan = (world, folder, ...words) => run(world, folder, ['whatif', 'checkpoint'], words);

const openServed = (world, folder, options) => open(world, [], { folder, ...options });

const budget = (page) => page.getByRole('slider', { name: 'memory budget' });
const told = (page) => page.locator('.plan .told').innerText();
const middle = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

// Nothing lies over anything else, and nothing makes the page wide.
async function assertReadable(page, what) {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what}: the curve makes the page wide`);
  const box = (name) => page.locator(`.plan ${name}`).first().boundingBox();
  const [plot, track, times, sizes] = await Promise.all(['.plot', '.track', '.times', '.sizes'].map(box));
  assert.ok(plot.width >= 120, `${what}: a plot of ${plot.width} pixels`);
  assert.ok(times.x + times.width <= plot.x && plot.y + plot.height <= track.y + 1 && track.y + track.height <= sizes.y + 1, what);
  const off = await page.evaluate(() => {
    const { left, right, top, bottom } = document.querySelector('.plan .plot').getBoundingClientRect();
    const marks = [...document.querySelectorAll('.plan .point, .plan .whisker')].map((each) => each.getBoundingClientRect());
    return marks.filter((each) => each.left < left || each.right > right || each.top < top || each.bottom > bottom).length;
  });
  assert.equal(off, 0, `${what}: a point is cut`);
}

// Without a plan the page says what to type; what a terminal plans then is drawn without a reload.
export async function planServed(world) {
  const folder = await record(world);
  const { timeline, page } = await openServed(world, folder, { colorScheme: 'light' });
  const section = page.locator('.plan');
  const id = path.basename(bundleIn(folder));
  await eventually('nothing says how blocks are planned', async () =>
    (await section.innerText()).includes(`hotlens whatif checkpoint ${id}`),
  );
  assert.equal(await section.locator('.curve').isVisible(), false);
  await world.shoot(page, 'before');
  await plan(world, folder);
  await eventually('the curve is not drawn', async () => /^[\d.]+ MB: as it is$/.test(await told(page)));
  const { points } = (await timeline.ask('whatIfs', {})).checkpoints;
  assert.equal(await section.locator('.point').count(), points.length);
  assert.equal(await section.locator('.point.unchanged.chosen').count(), 1);
  assert.equal(await section.locator('.whisker').count(), points.length - 1);

  // Where a choice with less memory takes less time, nobody would choose the other: times are measured, and differ by chance.
  const chosen = points.slice(1).filter((one) => points.every((other) => other.peak >= one.peak || other.step >= one.step));
  const [highest, lowest] = [chosen[0].peak, chosen.at(-1).peak];

  // Keys: from choice to choice, and nothing else moves.
  const selected = await timeline.selected();
  await budget(page).focus();
  await page.keyboard.press('ArrowLeft');
  assert.match(await told(page), /^[\d.]+ MB → [\d.]+ MB \(−[\d.]+ MB\) for ≈ [+−][\d.]+ % \(.*\): checkpoint block/);
  assert.equal(Number(await budget(page).getAttribute('aria-valuenow')), highest);
  assert.equal(await budget(page).getAttribute('aria-valuetext'), await told(page));
  await page.keyboard.press('Home');
  assert.equal(Number(await budget(page).getAttribute('aria-valuenow')), lowest);
  assert.match(await told(page), /checkpoint all 4 blocks$/);
  assert.equal(await timeline.selected(), selected);
  const command = `hotlens whatif checkpoint ${id} --budget ${Math.ceil((points.at(-1).peak * 1.002) / 1000)}kB --apply`;
  await eventually('nothing says how to make it', async () => (await section.innerText()).includes(command));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await section.getByRole('button', { name: 'copy' }).click();
  await eventually('the command is not copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === command);
  await budget(page).focus();
  await page.keyboard.press('Escape');
  await eventually('the unchanged step is offered', async () => (await section.locator('.actions').innerText()) === '');

  // A drag to between two choices takes the cheaper one that fits; Escape takes it back.
  const ofHighest = section.locator('.point').nth(points.filter(({ peak }) => peak < highest).length);
  const [from, to] = [await middle(budget(page)), await middle(ofHighest)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, from.y);
  assert.match(await told(page), /^within [\d.]+ MB: /);
  await world.shoot(page, 'dragging');
  await page.keyboard.press('Escape');
  await page.mouse.up();
  assert.match(await told(page), /as it is$/);
  const at = await middle(ofHighest);
  await page.mouse.click(at.x, at.y);
  assert.equal(Number(await budget(page).getAttribute('aria-valuenow')), highest, 'the plot is not pressed');
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1400, 700, 400]) {
      await page.setViewportSize({ width, height: 868 });
      await timeline.settled();
      await section.scrollIntoViewIfNeeded();
      await assertReadable(page, `${width} ${colorScheme}`);
      await world.shoot(page, `${width}-${colorScheme}`);
    }
  }

  // The command that was copied makes the edit.
  await plan(world, folder, ...command.split(' ').slice(3));
  assert.match(
    fs.readFileSync(path.join(folder, 'train.py'), 'utf8'),
    /x = torch\.utils\.checkpoint\.checkpoint\(block, x, use_reentrant=False\)/,
  );
}

// What is small beside the weights has its peak in the optimizer: no curve, and the reason.
export async function planRefused(world) {
  const folder = await record(world, 1, 3);
  await plan(world, folder);
  const { page } = await openServed(world, folder);
  await eventually('nothing says where the peak is', async () => /is in the optimizer.*\.$/m.test(await page.locator('.plan').innerText()));
  assert.equal(await page.locator('.plan .curve').isVisible(), false);
  await world.shoot(page);
}

// Behind the page is an editor: the choice is one edit, if the text is still the one that ran.
export async function planInEditor(world) {
  const folder = await record(world);
  await plan(world, folder);
  const { editor, uri, address } = await openInEditor(world, folder, 'train.py');
  const { timeline, page } = await openPage(world, address);
  await eventually('the curve is not drawn', async () => /as it is$/.test(await told(page)));
  await budget(page).focus();
  await page.keyboard.press('Home');
  const set = page.getByRole('button', { name: 'Checkpoint all 4 blocks in train.py:26' });
  await set.waitFor();
  assert.ok(!(await page.locator('.plan').innerText()).includes('--apply'), 'a command beside the edit');
  assert.deepEqual(editor.edits(), [], 'something is edited before anybody asked for it');
  await world.shoot(page, 'offer');
  await set.click();
  await eventually('nothing is said of the edit', async () => /checkpoints them now/.test(await page.locator('.plan').innerText()));
  const [{ edit }, ...more] = editor.edits();
  assert.deepEqual(more, []);
  const [{ textDocument, edits }, ...others] = edit.documentChanges;
  assert.deepEqual([textDocument, others], [{ uri, version: 1 }, []]);
  assert.ok(
    edits.some(({ newText }) => newText.includes('checkpoint')),
    JSON.stringify(edits),
  );
  assert.match(await told(page), /as it is$/, 'the curve tells what was recorded until it is recorded again');
  await world.shoot(page, 'set');

  // What was not replayed is not made, nor anything in a text that changed.
  const profile = path.basename(bundleIn(folder));
  const odd = await timeline.ask('setCheckpoints', { profile, blocks: ['blocks.3', 'nothing'] });
  assert.match(odd.message, /was not replayed/);
  const start = { line: 20, character: 0 };
  const change = { range: { start, end: start }, text: 'x = 1\n' };
  editor.send({ method: 'textDocument/didChange', params: { textDocument: { uri, version: 2 }, contentChanges: [change] } });
  await budget(page).focus();
  await page.keyboard.press('Home');
  await set.click();
  await eventually('a text that changed is edited', async () => /changed/.test(await page.locator('.plan .outcome').innerText()));
  assert.equal(editor.edits().length, 1);
  await world.shoot(page, 'refused');
}

const HOSTILE = '<img src=x onerror=alert(1)>';

// What anybody's bundle and ledger may say: a row for each change, with what is known of it, and texts that are markup.
export async function planHelps(world) {
  const folder = await record(world);
  const bundle = bundleIn(folder);
  const profile = path.basename(bundle);
  const record_ = (event, kind, ratio, half, rest) =>
    JSON.stringify({
      schema: 'hotlens.ledger/1',
      event,
      kind,
      profile,
      time: '',
      torch: '',
      ratio,
      low: ratio - half,
      high: ratio + half,
      ...rest,
    });
  const replayed = { method: 'replay', assumes: [HOSTILE] };
  const lines = [
    record_('predicted', 'fused_optimizer', 0.87, 0.03, replayed),
    record_('verified', 'fused_optimizer', 0.872, 0.011, { pairs: 6, losses: 'equal' }),
    record_('predicted', 'gelu_to_relu', 0.6, 0.05, { ...replayed, file: path.join(folder, 'train.py'), line: 17 }),
    record_('predicted', 'no_dropout', 1.01, 0.04, replayed),
    record_('predicted', 'checkpoint', 1.3, 0.1, replayed),
  ];
  fs.writeFileSync(path.join(folder, '.hotlens', 'ledger.jsonl'), `${lines.join('\n')}\n`);
  const { timeline, page } = await openServed(world, folder, { colorScheme: 'dark' });
  const rows = page.locator('aside .helps > li');
  await eventually('what was replayed has no row', async () => (await rows.first().innerText()).includes('predicted ≈ −40 % (−45…−35)'));
  assert.ok((await rows.first().innerText()).includes('train.py:18'));
  const fused = page.locator('aside .helps > li', { hasText: 'verified −12.8 % ± 1.1 %, 6 pairs' });
  assert.match(await fused.innerText(), /predicted ≈ −13 % \(−16…−10\)\s+verified/);
  assert.ok(!(await fused.innerText()).includes('at most'), 'a bound beside a prediction');
  const long = await fused
    .locator('.share')
    .evaluateAll((bars) => bars.map((bar) => Number.parseFloat(getComputedStyle(bar).backgroundSize)));
  assert.ok(Math.abs(long[0] - 13) < 0.1 && Math.abs(long[1] - 12.8) < 0.1, `${long}`);
  await fused.locator('summary').click();
  assert.ok((await fused.innerText()).includes(`if ${HOSTILE}`));
  assert.ok((await fused.innerText()).includes('the first losses are equal'));
  assert.equal(await page.locator('aside img').count(), 0);
  const others = rows.last();
  assert.match(
    await others.innerText(),
    /1 more was replayed: no certain gain/,
    'checkpoints lower memory: their time is told beside the curve',
  );
  await others.locator('summary').click();
  assert.match(await others.innerText(), /predicted ≈ \+1\.0 % \(−3\.0…\+5\.0\)/);
  for (const [what, media] of Object.entries({
    dark: { colorScheme: 'dark' },
    light: { colorScheme: 'light' },
    contrast: { colorScheme: 'dark', contrast: 'more' },
    forced: { colorScheme: 'dark', contrast: 'no-preference', forcedColors: 'active' },
  })) {
    await page.emulateMedia(media);
    await timeline.settled();
    await rows.first().scrollIntoViewIfNeeded();
    await world.shoot(page, what);
  }
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
  await page.setViewportSize({ width: 400, height: 868 });
  await timeline.settled();
  await rows.first().scrollIntoViewIfNeeded();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the rows make the page wide');
  await world.shoot(page, '400');
}
