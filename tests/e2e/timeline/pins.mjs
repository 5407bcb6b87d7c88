// Pins: notes on blocks, kept in the page's address.
import assert from 'node:assert/strict';
import { DEVICE, kind, label, largest, open, stepLevel } from './open.mjs';
import { eventually, TimelinePage } from './page.mjs';

// The note of the selected block stands in a field.
const notes = (page) =>
  page.locator('.pins li').evaluateAll((rows) => rows.map((row) => `${row.innerText} ${row.querySelector('input')?.value ?? ''}`.trim()));
const pinsOf = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll('pin');

// A block is pinned with the keyboard, found again from elsewhere, in another tab and after a reload, and let go.
export async function pins(world) {
  const { timeline, page, server } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  await timeline.press('ArrowRight');
  await eventually('nothing is selected', async () => (await timeline.selected()) !== '');
  const [name] = (await timeline.selected()).split(',');
  await timeline.press('m');
  await page.keyboard.type('slow ');
  await eventually('the pin does not say its time', async () => /· [\d.]+ [nµm]?s/.test((await notes(page)).join()));
  await page.keyboard.type('since Monday'); // what arrives meanwhile takes nobody's field away
  await world.shoot(page, 'writing');
  await page.keyboard.press('Enter');
  await eventually('the address holds no pin', () => pinsOf(page).length === 1);
  await eventually('the list says no note', async () => /slow since Monday/.test((await notes(page)).join()));
  // The button of the details does the same for a block deeper down.
  await timeline.press('Enter');
  await eventually('nothing opened', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await eventually('nothing is selected there', async () => (await timeline.selected()) !== '');
  await page.getByRole('button', { name: 'pin this block' }).click();
  await page.keyboard.type('look here <b>first</b>');
  await page.keyboard.press('Enter');
  await eventually('the address holds one pin', () => pinsOf(page).length === 2);
  await timeline.settled();
  await world.shoot(page, 'two');
  // The pointer on the pinned block tells its note.
  const row = level.tracks.findIndex((track) => track.blocks.start.some((_, at) => label(track, at) === name));
  const at = largest(
    level.tracks[row].blocks.start.flatMap((_, each) => (label(level.tracks[row], each) === name ? [each] : [])),
    (each) => level.tracks[row].blocks.duration[each],
  );
  await page.locator('.levels').evaluate((pane) => pane.scrollTo(0, 0));
  await eventually('the tip says no note', async () => {
    const point = await timeline.pointOf(level, row, at); // the page may still be finding its height
    await page.mouse.move(point.x, point.y);
    return /slow since Monday/.test(await page.locator('.tip').innerText());
  });
  await world.shoot(page, 'tip');
  // Another tab with the copied address shows the same; a click goes there.
  await timeline.addressAtRest();
  const other = await TimelinePage.open(world.browser, server.address, { fragment: new URL(page.url()).hash.slice(1) });
  world.closing(() => other.page.context().close());
  await other.settled();
  await eventually('the other tab has other pins', async () => String(await notes(other.page)) === String(await notes(page)));
  assert.equal(await other.page.locator('.pins b').count(), 0);
  await other.press('Escape', 'Escape', ']');
  await other.settled();
  await eventually('the list does not say which step', async () => /step \d+: /.test((await notes(other.page)).join()));
  await other.page.locator('.pins li .link').first().click();
  await eventually('a click does not go there', async () => (await other.selected()).startsWith(name));
  await page.reload();
  await timeline.settled();
  await eventually('a reload forgets the pins', async () => (await notes(page)).length === 2);
  await page.locator('.pins li .tool').first().click();
  await eventually('a pin cannot be taken away', () => pinsOf(page).length === 1);
  await page.locator('.pins li .tool').first().click();
  await eventually('the list stays', async () => !(await page.locator('.pins').isVisible()));
}

const HOSTILE = [
  '0:forward:<img src=x onerror=alert(1)>',
  `0:${encodeURIComponent('<script>alert(1)</script>')}:${encodeURIComponent('</script><script>alert(2)</script>')}`,
  `1:backward:${encodeURIComponent('\u202Egnp.exe\u0000\n'.repeat(50))}`,
  `0:${'a/'.repeat(500)}a:deep`,
  `0:${'x'.repeat(90)}:${'y'.repeat(9000)}`,
  ':::',
  '%',
  '-1:forward:n',
];

// An address is anybody's text: it only ever becomes text, within limits, and what is no block of this profile is told as that.
export async function hostilePins(world) {
  const fragment = `path=&${[...HOSTILE, ...Array.from({ length: 200 }, (_, at) => `0:nobody${at}:`)].map((pin) => `pin=${encodeURIComponent(pin)}`).join('&')}`;
  const { timeline, page } = await open(world, world.trace(DEVICE), { fragment });
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs++;
    return dialog.dismiss();
  });
  await eventually('there are too few or too many pins', async () => (await notes(page)).length === 20);
  await eventually(
    'nothing says what is not there',
    async () => (await notes(page)).filter((text) => /not in this profile/.test(text)).length >= 17,
  );
  assert.ok((await notes(page)).every((text) => text.length < 600));
  await timeline.press('ArrowRight', 'Enter');
  await eventually('nothing opened', async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await eventually('nothing is selected there', async () => (await timeline.selected()) !== '');
  await timeline.press('m');
  await eventually('a full list takes one more', async () => /remove one first/.test(await timeline.said()));
  await world.shoot(page);
  assert.equal(dialogs, 0);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('img, script:not([src]):not(#first), iframe')].length), 0);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'a long note makes the page wide');
  const level = await stepLevel(timeline);
  assert.ok(level.tracks.some((track) => track.blocks.start.some((_, at) => kind(track, at) === 'stage')));
}
