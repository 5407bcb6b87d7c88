// What the page's texts look like to eyes that need contrast, and what it says to who does not see it.
import assert from 'node:assert/strict';
import { AFTER, open } from './open.mjs';
import { eventually } from './page.mjs';

const LEAST_CONTRAST = 4.5; // WCAG 2, level AA, for text of this size

// Runs in the page: the texts with less contrast than that to what is behind them.
function pale(least) {
  const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const linear = (channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const behind = (element) => {
    const layers = [];
    for (let at = element; at !== null && layers.at(-1)?.[3] !== 1; at = at.parentElement)
      layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const texts = (element) =>
    [...element.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => node.textContent)
      .join('')
      .trim();
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const { width, height } = element.getBoundingClientRect();
    if (texts(element) === '' || width < 2 || height < 2 || element.closest('option, script') !== null) continue;
    const ground = behind(element.closest('.step')?.querySelector('.bar') ?? element);
    const [more, less] = [ground, over(rgba(getComputedStyle(element).color), ground)].map(light).sort((a, b) => b - a);
    const contrast = (more + 0.05) / (less + 0.05);
    if (contrast < least) found.push(`${texts(element).slice(0, 40)} (${element.className}): ${contrast.toFixed(2)}`);
  }
  return found;
}

export async function contrasts(world) {
  for (const options of [{ colorScheme: 'dark' }, { colorScheme: 'light' }, { colorScheme: 'dark', contrast: 'more' }]) {
    const { timeline, page } = await open(world, world.trace(AFTER), options);
    for (const keys of [[], ['ArrowRight', 'Enter'], ['c'], ['/', 'e'], ['Escape', '?']]) {
      await timeline.press(...keys);
      await timeline.settled();
      assert.deepEqual(await page.evaluate(pale, LEAST_CONTRAST), [], `${JSON.stringify(options)} after ${keys}`);
    }
    // Who asks for more contrast gets no dim text.
    const [dim, text] = await page.evaluate(() => ['.facts', 'body'].map((what) => getComputedStyle(document.querySelector(what)).color));
    assert.equal(dim === text, options.contrast === 'more', `${JSON.stringify(options)}: ${dim} beside ${text}`);
  }
  // With a few colours of the person's own, what is told by a colour keeps it.
  const { page } = await open(world, world.trace(AFTER), { forcedColors: 'active' });
  await eventually('no slices', async () => (await page.locator('button.slice').count()) > 0);
  const grounds = await page.evaluate(() =>
    ['.step .bar', '.step.shown .bar', '.swatch', 'button.slice'].map(
      (what) => getComputedStyle(document.querySelector(what)).backgroundColor,
    ),
  );
  for (const ground of grounds) assert.ok(!/^(rgba\(0, 0, 0, 0\)|rgb\(0, 0, 0\)|rgb\(255, 255, 255\))$/.test(ground), `grounds ${grounds}`);
  await world.shoot(page, 'forced');
}

// Every control has a name; the search tells its matches, and the one that is chosen, as a list.
export async function names(world) {
  const { timeline, page } = await open(world, world.trace(AFTER));
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, [tabindex]')]
      .filter((each) => ![each.getAttribute('aria-label'), each.textContent].some((name) => (name ?? '').trim() !== ''))
      .map((each) => each.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(unnamed, []);
  const search = page.getByRole('combobox', { name: 'search all steps' });
  await timeline.press('/');
  await page.keyboard.type('mm');
  await eventually(
    'no matches are told',
    async () => (await search.getAttribute('aria-expanded')) === 'true' && (await page.getByRole('option').count()) > 1,
  );
  await timeline.press('ArrowDown', 'ArrowDown');
  await eventually('the chosen match is not told', async () => {
    const chosen = await page.locator('[aria-selected=true]').getAttribute('id');
    return chosen !== null && (await search.getAttribute('aria-activedescendant')) === chosen;
  });
}

// Without a mouse: a step is chosen from the strip, its button keeps the focus, and the one before is not told as chosen any more.
export async function stepsByKeys(world) {
  const { timeline, page } = await open(world, world.trace(AFTER));
  const steps = page.locator('.step');
  await steps.nth(2).focus();
  await timeline.press('Enter');
  await eventually('Enter chooses no step', async () => (await timeline.state()).step === '2');
  const marked = () => steps.evaluateAll((all) => all.map((each) => each.getAttribute('aria-pressed')));
  assert.deepEqual(
    (await marked()).flatMap((pressed, at) => (pressed === 'true' ? [at] : [])),
    [2],
  );
  assert.ok(await steps.nth(2).evaluate((each) => each === document.activeElement), 'the focus is lost');
  await timeline.press('c');
  await eventually(
    'the step that is compared with is not told',
    async () => (await page.getByRole('button', { name: /the one that is compared with/ }).count()) === 1,
  );
  await timeline.press('c');
  await eventually(
    'it is still told',
    async () => (await page.getByRole('button', { name: /the one that is compared with/ }).count()) === 0,
  );
  // Tab leads to the levels, and shows that it does.
  await page.locator('button.tool').last().focus();
  await timeline.press('Tab');
  const outline = () => page.locator('.levels').evaluate((pane) => [document.activeElement === pane, getComputedStyle(pane).outlineStyle]);
  assert.deepEqual(await outline(), [true, 'solid']);
  // What is pressed below stays where the focus is, though the rows are drawn anew.
  const slice = page.locator('.breakdown button.slice').first();
  const name = await slice.getAttribute('aria-label');
  await slice.focus();
  await timeline.press('[');
  await timeline.settled();
  await eventually('the focus leaves the breakdown', () =>
    page.evaluate(() => document.activeElement.closest('.breakdown') !== null && document.activeElement.matches('button')),
  );
  assert.notEqual(name, null);
}
