// What a person who sees the page for the first time asks of it, on real traces: each answer is on the screen within three actions, and is
// what the server's own numbers say. SHOTS keeps what was seen.
import assert from 'node:assert/strict';
import path from 'node:path';
import { AFTER, BEFORE, DEVICE, LARGE, largest, leading, open, stepLevel } from './open.mjs';
import { eventually } from './page.mjs';
import { recordExample } from './recording.mjs';

const MOST_ACTIONS = 3;
const ONE_LEVEL = 220; // pixels, about: how many tracks a level has is known when it is open, the row of its critical path among them
const RANKS = ['worker0_step_12.1694128201545.pt.trace.json.gz', 'worker1_step_12.1694128201556.pt.trace.json.gz'];
const SEVERAL = 'v2021-06_resnet50_nw0_1623143089861.pt.trace.json.gz';
const REPLAYED = 'inference_vllm_decode_full_graph_execution.json.gz';
const EARLY = 'v2021-01_profiler_api_nw0.pt.trace.json.gz';

class Visitor {
  constructor(timeline) {
    this.timeline = timeline;
    this.actions = 0;
  }

  act(action) {
    assert.ok(++this.actions <= MOST_ACTIONS, 'too many actions');
    return action();
  }

  // The question is answered where the words are on the screen.
  async reads(question, place, words) {
    const text = () =>
      this.timeline.page
        .locator(place)
        .allInnerTexts()
        .then((texts) => texts.join('\n'));
    let seen = '';
    await eventually(`${question} is not answered by "${words}" in ${place}`, async () => (seen = await text()).includes(words)).catch(
      (error) => {
        throw new Error(`${error.message}; there stands: ${seen.slice(0, 400)}`);
      },
    );
    this.actions = 0;
  }
}

const short = (name) => name.split(/::|\./).at(-1);

async function ask(world, profile, what, { folder } = {}) {
  const { timeline, page, server } = await open(world, profile, { folder });
  const visitor = new Visitor(timeline);
  const overview = await timeline.ask('overview', {});
  await visitor.reads('what limits the step', '.story', overview.verdict.evidence[0].what);
  await eventually('no breakdown', async () => (await page.locator('.breakdown .slice').count()) > 0);
  await world.shoot(page, `${what}-first`);
  await visitor.act(() => timeline.press('ArrowRight'));
  await visitor.reads('which stage takes longest', '.spoken', leading(await stepLevel(timeline)));
  const rows = (await timeline.ask('breakdown', { metric: 'time' })).rows;
  const modules = rows.filter(({ kind }) => kind === 'module');
  if (modules.length > 0) {
    const module = largest(modules, ({ value }) => value);
    await visitor.act(() => page.locator('.breakdown button.slice', { hasText: module.label }).first().click());
    await visitor.reads('which module takes longest', 'aside .title', short(module.label));
    if (module.file !== undefined)
      await visitor.reads('where it is in the code', 'aside .place', `${path.basename(module.file)}:${module.line + 1}`);
  }
  await visitor.act(() => page.locator('main .crumbs button').first().click());
  await world.shoot(page, `${what}-layer`);
  const { kernels } = await timeline.ask('details', { path: [] });
  const run = overview.hasDevice ? 'Kernels' : 'Operators';
  await page.goto('about:blank');
  await page.goto(server.address);
  await timeline.settled();
  await visitor.reads('what runs longest', 'aside', run);
  assert.ok(kernels.length > 0);
  await visitor.reads('CPU or device', 'aside', overview.hasDevice ? 'device busy' : 'CPU total');
}

// Without an action: the costliest causes are told, and the way to what takes most time is open as far as the pane is high.
async function firstSight(world, profile, what, { folder } = {}) {
  for (const [width, height] of [
    [1389, 868],
    [560, 900],
  ]) {
    const { timeline, page } = await open(world, profile, { folder, fragment: '', viewport: { width, height } });
    const { verdict } = await timeline.ask('overview', {});
    const causes = await page.locator('.story > *').allInnerTexts();
    assert.equal(causes.length, Math.min(3, verdict.evidence.length));
    causes.forEach((words, index) =>
      assert.ok(words.includes(verdict.evidence[index].what), `${words} does not tell ${verdict.evidence[index].what}`),
    );
    await eventually('nothing is open below the step', async () => (await page.locator('main .crumbs button').count()) > 1);
    await timeline.settled();
    await world.shoot(page, `${what}-${width}`);
    const [pane, content, scrolled] = await page
      .locator('.levels')
      .evaluate((levels) => [levels.clientHeight, levels.scrollHeight, levels.scrollTop]);
    assert.equal(scrolled, 0, 'the step itself is not in the picture');
    assert.ok(content <= pane + ONE_LEVEL, `${content - pane} pixels of what was opened are below the picture`);
  }
}

export const firstSightCheckpointed = (world) => firstSight(world, world.trace(DEVICE), 'mi300');
export const firstSightLarge = (world) => firstSight(world, world.trace(LARGE), 'owl');
export const firstSightEarly = (world) => firstSight(world, world.trace(EARLY), 'v100');
export const firstSightReplayed = (world) => firstSight(world, world.trace(REPLAYED), 'vllm');
export const firstSightSeveral = (world) => firstSight(world, world.trace(SEVERAL), 'several');

export const asksCheckpointed = (world) => ask(world, world.trace(DEVICE), 'mi300');
export const asksLarge = (world) => ask(world, world.trace(LARGE), 'owl');
export const asksEarly = (world) => ask(world, world.trace(EARLY), 'v100');

// What takes the memory: the parts that a run records itself are named, with their sizes.
async function asksExample(world, name, words) {
  const folder = await recordExample(world, name, words);
  await firstSight(world, 'latest', `${name}-sight`, { folder });
  await ask(world, 'latest', name, { folder });
  const { timeline, page } = await open(world, 'latest', { folder });
  const visitor = new Visitor(timeline);
  const { rows } = await timeline.ask('breakdown', { metric: 'memory' });
  const { memoryPeak, memoryPeakAt, profile, verdict } = await timeline.ask('overview', {});
  for (const { what, where, path: block } of verdict.evidence)
    assert.ok(where === '' || block !== undefined, `${what}: nothing is shown at ${where}`);
  assert.ok(profile.plainStepNs > 0, "the run's own steps are not known");
  await visitor.reads('how long a step takes without the profiler', 'header .chip', ' profiled)');
  assert.equal(
    rows.reduce((sum, { value }) => sum + value, 0),
    memoryPeak,
    'the rows are not the peak',
  );
  await visitor.reads('when most memory is held', '.breakdown section:nth-child(2) h2', `in ${memoryPeakAt.stage}`);
  const model = largest(rows, ({ value }) => value);
  await visitor.act(() => page.locator('.breakdown section').nth(1).locator('button.slice', { hasText: model.label }).first().click());
  for (const what of ['weights', 'gradients', 'optimizer', 'activations'])
    assert.ok(
      model.parts.some((part) => part.what === what && part.value > 0),
      `${what} of ${model.label} are not known`,
    );
  await visitor.reads('what takes the memory', 'aside', 'optimizer state');
  await world.shoot(page, `${name}-memory`);
}

export const asksDigits = (world) => asksExample(world, 'resnet_digits', ['--epochs', '1']);
export const asksText = (world) => asksExample(world, 'gpt_text', []);

// Which of two ranks waits for the other: one action for the other rank, one for the comparison.
export async function asksRanks(world) {
  const { timeline, page } = await open(
    world,
    RANKS.map((file) => world.trace(file)),
  );
  const visitor = new Visitor(timeline);
  const here = await timeline.ask('overview', {});
  await visitor.act(() => page.getByLabel('the profile to compare with').selectOption(here.compareWith[0]));
  const { rows, before, after } = await timeline.ask('compare', { before: here.compareWith[0], after: here.profile.id });
  await visitor.reads('which rank is slower', '.compare .whole', after.stepNs < before.stepNs ? '▼' : '▲');
  await visitor.reads('in which module', '.compare', short(rows[0].module));
  await world.shoot(page, 'ranks');
}

// What changed from one device to the other, and where.
export async function asksChange(world) {
  const { timeline, page } = await open(
    world,
    [AFTER, BEFORE].map((file) => world.trace(file)),
  );
  const visitor = new Visitor(timeline);
  const here = await timeline.ask('overview', {});
  await visitor.act(() => page.getByLabel('the profile to compare with').selectOption(here.compareWith[0]));
  const { rows, before, after } = await timeline.ask('compare', { before: here.compareWith[0], after: here.profile.id });
  await visitor.reads('which device is slower', '.compare .whole', after.stepNs < before.stepNs ? '▼' : '▲');
  const worst = largest(
    rows.filter(({ change }) => change === 'slower'),
    (row) => row.after - row.before,
  );
  await visitor.reads('which module lost most', '.compare tr.change.slower', worst.module);
  await world.shoot(page, 'change');
}

// Why a step was slow: its bar, then it beside the usual one; what differs most stands first.
export async function asksSlowStep(world) {
  const { timeline, page } = await open(world, world.trace(SEVERAL));
  const visitor = new Visitor(timeline);
  const { steps, representative, profile } = await timeline.ask('overview', {});
  const slow = steps.indexOf(
    largest(
      steps.filter((_, position) => position !== representative),
      ({ wall }) => wall,
    ),
  );
  await visitor.act(() => page.locator('.step').nth(slow).click());
  await visitor.act(() => timeline.press('c'));
  const asked = { before: profile.id, after: profile.id, beforeStep: representative, afterStep: slow };
  const { rows } = await timeline.ask('compare', asked);
  await visitor.reads('how much slower is it', '.compare .whole', '▲');
  const worst = largest(rows, ({ before = 0, after = 0 }) => after - before);
  assert.equal(
    await page
      .locator('.compare tr.change')
      .first()
      .evaluate((row) => row.classList.contains('slower')),
    true,
  );
  await visitor.reads('where', '.compare tr.change:first-of-type, .compare tr.change', worst.label);
  await world.shoot(page, 'slow-step');
  // The same after a reload, and another step against the one that is shown, with the mouse.
  await eventually('the address does not say the step', async () => (await timeline.state()).beforeStep === String(representative));
  await page.reload();
  await timeline.settled();
  await eventually('a reload forgets the comparison', async () => (await page.locator('.compare tr.change').count()) === rows.length);
  const third = steps.findIndex((_, position) => position !== slow && position !== representative);
  await page
    .locator('.step')
    .nth(third)
    .click({ modifiers: ['Shift'] });
  await eventually(
    'Shift and click compares nothing',
    async () => (await timeline.state()).beforeStep === String(third) && (await timeline.state()).step === String(slow),
  );
  await timeline.press('c');
  await eventually('c does not end it', async () => (await page.locator('.compare').count()) === 0);
}
