// What a person does and sees in VS Code: the steps of scenarios.json. Text is read from the page as it is drawn.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { sleep } from './code_server.mjs';

const WAIT_MS = 20000;
const FIRST_WAIT_MS = 60000; // the page loads and the extension starts
const RUN_WAIT_MS = 180000; // a run on a busy machine
const PLAN_MS = 180000; // the worker may have to be built
const MESSAGE_WAIT_MS = 120000; // the same of a message that comes when the extension has looked around
const TOAST_MS = 8000; // shorter than a toast stays
const LABEL = /(≠ |~)?(≈ )?<?[0-9.]+(…[0-9.]+)?(\+<?[0-9.]+)* (ns|µs|ms|s)( <?[0-9]+%)?( ×[0-9]+)?$/;
const SHAPES = {
  time: (label) => label !== '' && !label.includes('≠'),
  repeated: (label) => label.includes('×') && !label.includes('≠'),
  edited: (label) => label.startsWith('≠'),
};
const IN_UNIT = { share: / <?[0-9]+%( ×[0-9]+)?$/, memory: / [0-9.]+ (kB|MB) <?[0-9]+%$/, throughput: / ?[0-9.]+\/s$/ };
const COMMANDS = {
  next: 'Hotlens: Next Hot Line',
  previous: 'Hotlens: Previous Hot Line',
  hot: 'Hotlens: Hot Lines',
  profile: 'Hotlens: Profile with Hotlens',
  cancel: 'Hotlens: Cancel Profiling',
  restart: 'Hotlens: Restart Server',
  timeline: 'Hotlens: Show Timeline',
  history: 'Hotlens: Profiles…',
  baseline: 'Hotlens: Set Baseline',
  configuration: 'Hotlens: Choose Run Configuration…',
  interpreter: 'Hotlens: Choose Interpreter…',
  clear: 'Hotlens: Clear Baseline',
  silenced: 'Hotlens: Silenced Advice…',
  unit: 'Hotlens: Show Hints in Another Unit',
  calls: 'Hotlens: Show Calls of This Layer',
  copy: 'Hotlens: Copy Line as Markdown',
  outline: 'Explorer: Focus on Outline View',
  walkthrough: 'Welcome: Open Walkthrough...',
  report: 'Hotlens: Show Report',
  export: 'Hotlens: Export Profile…',
  output: 'Hotlens: Show Output of the Script',
  hidePanel: 'View: Hide Panel',
  view: 'Explorer: Focus on Hot Lines View',
};

export function makeSteps({ page, url, workspace, workspacePids }) {
  const remembered = new Map();
  let opened = false;
  let server; // process id

  async function eventually(what, look, ms = WAIT_MS) {
    let seen;
    for (const begun = Date.now(); Date.now() - begun < ms; await sleep(50)) {
      const [good, now] = await look();
      if (good) return now;
      seen = now;
    }
    throw new Error(`${what}; seen: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
  }

  // The drawn lines from top to bottom, no-break and thin spaces as spaces.
  const lines = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(':is(.editor-instance, .notebookOverlay) .view-line')]
        .map((line) => ({ top: line.getBoundingClientRect().top, text: line.textContent.replace(/[\u00a0\u2009]/g, ' ') }))
        .sort((a, b) => a.top - b.top),
    );

  // A code lens is drawn directly above its line.
  const lensAbove = (line) =>
    page.evaluate((top) => {
      const drawn = [...document.querySelectorAll('.codelens-decoration')].map((each) => [each.getBoundingClientRect(), each.textContent]);
      const [, text] = drawn.find(([box]) => box.top < top && box.bottom > top - box.height) ?? [];
      return (text ?? '').replace(/[\u00a0\u2009]/g, ' ').trim();
    }, line.top);

  const lineWith = async (text) => (await lines()).find((line) => line.text.includes(text));
  const hintAt = async (text) => LABEL.exec((await lineWith(text))?.text ?? '')?.[0] ?? '';

  // Requests follow a change after a moment; absence counts only after that.
  const settled = () => sleep(1200);

  // The middle of a character of a drawn line.
  async function pointAt(text, word, offset = 1) {
    const point = await page.evaluate(
      ([text, word, offset]) => {
        const clean = (s) => s.replace(/[\u00a0\u2009]/g, ' ');
        const rows = [...document.querySelectorAll(':is(.editor-instance, .notebookOverlay) .view-line')].filter((row) =>
          clean(row.textContent).includes(text),
        );
        const row = rows.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0];
        if (row === undefined) return null;
        let at = clean(row.textContent).indexOf(word) + offset;
        const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          if (at < node.length) {
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            const box = range.getBoundingClientRect();
            return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
          }
          at -= node.length;
        }
        return null;
      },
      [text, word, offset],
    );
    if (point === null) throw new Error(`no line shows ${text}`);
    return point;
  }

  // The cursor's line holds the text: a lens that comes late moves the lines between the look and the click.
  const cursorIsAt = async (text) => {
    const inCell = page.locator('.notebookOverlay .monaco-editor.focused .cursors-layer .cursor'); // each cell has an editor with a cursor
    const cursors = (await inCell.count()) > 0 ? inCell : page.locator('.editor-instance .cursors-layer .cursor');
    const cursor = await cursors.first().boundingBox();
    const line = await lineWith(text);
    return cursor !== null && line !== undefined && Math.abs(cursor.y - line.top) < cursor.height / 2;
  };

  const clickLine = (text) =>
    eventually(`the cursor does not reach "${text}"`, async () => {
      const { x, y } = await pointAt(text, text, Math.floor(text.length / 2));
      await page.mouse.click(x, y);
      await sleep(100);
      return [await cursorIsAt(text), ''];
    });

  async function restOn(text, word) {
    const { x, y } = await pointAt(text, word);
    await page.mouse.move(x - 4, y);
    await page.mouse.move(x, y, { steps: 4 });
  }

  async function moveAway() {
    await page.keyboard.press('Escape');
    await page.mouse.move(5, 5);
    await page
      .locator('.monaco-hover:visible')
      .first()
      .waitFor({ state: 'detached', timeout: 2000 })
      .catch(() => {});
  }

  const hoverText = async () => (await page.locator('.monaco-hover:visible .hover-contents').allInnerTexts()).join('\n');

  async function hoverShows(text, word, expected) {
    await eventually('no hover with all texts', async () => {
      await restOn(text, word);
      await sleep(600);
      const shown = await hoverText();
      if (expected.every((part) => shown.includes(part))) return [true, shown];
      await moveAway();
      return [false, shown];
    });
  }

  const lens = (text) => page.locator('.codelens-decoration a', { hasText: text }).first();
  const notification = (text) => page.locator('.notification-list-item', { hasText: text }).first();

  const cancelButton = (word = 'Profil') => notification(word).locator('.monaco-button', { hasText: 'Cancel' });
  const status = (text) => page.locator('.statusbar-item', { hasText: text }).first();

  async function openByName(file) {
    const tab = page.locator('.tab', { hasText: file }).first();
    if (await tab.isVisible()) return tab.click();
    const input = page.locator('.quick-input-widget input').first();
    for (let tries = 0; tries < 3; tries++) {
      // the list may still hold what it had before the name was typed
      await page.keyboard.press('Control+P');
      await input.fill(file);
      const row = page.locator('.quick-input-list .monaco-list-row.focused', { hasText: file }).first();
      await row.waitFor({ timeout: 5000 }).catch(() => {});
      await page.keyboard.press('Enter');
      if (
        await page
          .locator('.tab.active', { hasText: file })
          .waitFor({ timeout: 5000 })
          .then(
            () => true,
            () => false,
          )
      )
        return;
      await page.keyboard.press('Escape');
    }
  }

  const timeline = () => page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');

  // The tops of the lines that a decoration of ours fills: the tint of costly lines, or with a border, what the timeline highlights.
  const filledLines = (bordered) =>
    page.evaluate(
      (bordered) =>
        [...document.querySelectorAll(':is(.editor-instance, .notebookOverlay) .view-overlays .cdr')]
          .filter((mark) => /TextEditorDecorationType/.test(mark.className))
          .filter((mark) => (getComputedStyle(mark).borderTopStyle === 'solid') === bordered)
          .map((mark) => mark.getBoundingClientRect().top),
      bordered,
    );
  const highlightedLines = () => filledLines(true);
  const isTinted = async (text) => {
    const line = await lineWith(text);
    return line !== undefined && (await filledLines(false)).some((top) => Math.abs(top - line.top) < 3);
  };

  // The marks in the gutter; a level by the height of its bar.
  const marks = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(':is(.editor-instance, .notebookOverlay) .glyph-margin-widgets .cgmr')].flatMap((mark) => {
        const picture = /base64,([^")]+)/.exec(getComputedStyle(mark).backgroundImage)?.[1];
        const height = /width="6" height="(\d+)"/.exec(picture === undefined ? '' : atob(picture))?.[1];
        return height === undefined ? [] : [{ top: mark.getBoundingClientRect().top, level: [4, 8, 14].indexOf(Number(height)) + 1 }];
      }),
    );
  const markAt = async (text) => {
    const line = await lineWith(text);
    return (await marks()).find((mark) => line !== undefined && Math.abs(mark.top - line.top) < 3)?.level ?? 0;
  };

  // What must stay as it is while lines are highlighted: what is scrolled where, which tab is in front.
  let look;
  const editorLook = async () => [(await lines())[0]?.text, await page.locator('.tab.active').allInnerTexts()];

  async function runCommand(name) {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').first().fill(`>${COMMANDS[name]}`);
    // Enter takes the row that has the focus, which is another one until the list follows what was typed.
    await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: COMMANDS[name] }).first().waitFor();
    await page.keyboard.press('Enter');
  }

  // The file, line and drawn text at the cursor.
  async function place() {
    const tab = await page.locator('.tab.active').first().innerText();
    const position = /Ln \d+/.exec(await status(/Ln \d+/).innerText())?.[0];
    const cursor = await page.locator('.editor-instance .cursors-layer .cursor').first().boundingBox();
    const line = cursor === null ? undefined : (await lines()).find((each) => Math.abs(cursor.y - each.top) < cursor.height / 2);
    return { at: `${tab.trim()} ${position}`, text: line?.text ?? '' };
  }
  const hot = new Map(); // places by rank

  async function hotPlace(rank, from) {
    const now = await eventually('the cursor is at no other line with a hint', async () => {
      const now = await place();
      return [now.at !== from && SHAPES.time(LABEL.exec(now.text)?.[0] ?? ''), now];
    });
    if (hot.has(rank) && hot.get(rank) !== now.at) throw new Error(`rank ${rank} is ${now.at}, was ${hot.get(rank)}`);
    for (const [other, at] of hot) if (other !== rank && at === now.at) throw new Error(`${at} is of two ranks`);
    hot.set(rank, now.at);
    return now;
  }

  // A toast that waits behind others, or went before anybody looked, is in the notification centre: the bell opens it.
  async function message(text) {
    let bell = Date.now() + TOAST_MS;
    await eventually(
      `no message "${text}"`,
      async () => {
        if (await notification(text).isVisible()) return [true, ''];
        if (Date.now() > bell) {
          bell = Date.now() + TOAST_MS;
          await page
            .locator('#status\\.notifications')
            .click({ timeout: 2000 })
            .catch(() => {});
        }
        return [false, await page.locator('.notification-list-item').allInnerTexts()];
      },
      MESSAGE_WAIT_MS,
    );
  }

  const pids = (verb) => spawnSync(workspacePids, [workspace, verb], { encoding: 'utf8' }).stdout.trim();

  return {
    async open(file) {
      if (opened) await openByName(file);
      else await page.goto(url(workspace, file));
      await page.locator('.tab.active', { hasText: file }).waitFor({ timeout: FIRST_WAIT_MS });
      opened = true;
    },
    hint: (text, shape) =>
      eventually(
        `no ${shape} hint at "${text}"`,
        async () => {
          const label = await hintAt(text);
          return [SHAPES[shape](label), label || ((await lineWith(text))?.text ?? 'no such line')];
        },
        FIRST_WAIT_MS,
      ),
    hint_above: (text, shape) =>
      eventually(
        `no ${shape} hint above "${text}"`,
        async () => {
          const line = await lineWith(text);
          if (line === undefined || (await hintAt(text)) !== '') return [false, line?.text ?? 'no such line'];
          const seen = await lensAbove(line);
          return [SHAPES[shape](LABEL.exec(seen)?.[0] ?? ''), seen];
        },
        FIRST_WAIT_MS,
      ),
    hint_in: (text, unit) =>
      eventually(`no ${unit} at "${text}"`, async () => {
        const line = (await lineWith(text))?.text ?? 'no such line';
        return [IN_UNIT[unit].test(` ${line.slice(line.indexOf(text) + text.length).trim()}`), line];
      }),
    async no_hint(text) {
      await settled();
      if ((await lineWith(text)) === undefined) throw new Error(`no line shows ${text}`);
      const label = await hintAt(text);
      if (label !== '') throw new Error(`a hint at "${text}": ${label}`);
    },
    async remember(text) {
      remembered.set(text, await hintAt(text));
    },
    changed: (text) =>
      eventually('the hint is what it was', async () => {
        const label = await hintAt(text);
        return [label !== '' && label !== remembered.get(text), label];
      }),
    async same(text) {
      await settled();
      const label = await hintAt(text);
      if (label !== remembered.get(text)) throw new Error(`${label} was ${remembered.get(text)}`);
    },
    marked: (text, level) =>
      eventually(`no mark of level ${level} at "${text}"`, async () => {
        const seen = await markAt(text);
        if ((seen === 3) !== (await isTinted(text))) return [false, `level ${seen}, and a tint belongs to level 3 alone`];
        return [seen >= level, `level ${seen}`];
      }),
    async not_marked(text) {
      await settled();
      if ((await markAt(text)) !== 0) throw new Error(`a mark at "${text}"`);
    },
    async outline(name, text) {
      await runCommand('outline');
      const rows = page.locator('.outline-pane .monaco-list-row', { hasText: name });
      const tree = page.locator('.outline-pane .monaco-list').first();
      await tree.waitFor({ timeout: WAIT_MS });
      await eventually(`no symbol ${name} with ${text}`, async () => {
        for (const closed of await page.locator('.outline-pane .monaco-tl-twistie.collapsed').all()) await closed.click().catch(() => {});
        const shown = await rows.allInnerTexts();
        return [shown.some((row) => row.includes(text)), await tree.innerText()];
      });
      return () => page.keyboard.press('Escape');
    },
    async copy_line(text) {
      await clickLine(text);
      await runCommand('copy');
      await status('copied as Markdown').waitFor({ timeout: WAIT_MS });
    },
    async calls(text, expected) {
      await clickLine(text);
      await runCommand('calls');
      const list = page.locator('.peekview-widget .ref-tree');
      await list.waitFor({ timeout: WAIT_MS });
      await eventually('the list has not all texts', async () => {
        const shown = (await list.innerText()).replace(/[\u00a0\u2009]/g, ' ');
        return [expected.every((part) => shown.includes(part)), shown];
      });
    },
    async hover(text, word, expected) {
      await hoverShows(text, word, expected);
      return moveAway;
    },
    lens: (text) => lens(text).waitFor({ timeout: FIRST_WAIT_MS }),
    no_lens: (text) => lens(text).waitFor({ state: 'detached', timeout: FIRST_WAIT_MS }),
    async history(rank) {
      await runCommand('history');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: '/step' });
      await row.nth(rank - 1).waitFor({ timeout: WAIT_MS });
      for (let down = 1; down < rank; down++) await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
    },
    toolbar: (name) => page.locator(`.notebook-toolbar-container [aria-label^="${name}"]`).first().click({ timeout: FIRST_WAIT_MS }),
    run_lens: (text) => lens(text).click(),
    async run_action(text, title) {
      await clickLine(text);
      const row = page.locator('.action-widget .monaco-list-row', { hasText: title }).first();
      for (let tries = 0; tries < 3 && !(await row.isVisible()); tries++) {
        // a late layout change closes the menu
        await page.keyboard.press('Control+.');
        await row.waitFor({ timeout: 4000 }).catch(() => {});
      }
      await row.waitFor({ timeout: 1000 });
      // The keyboard: a click is swallowed until the mouse has moved.
      const focused = page.locator('.action-widget .monaco-list-row.focused');
      for (let tries = 0; tries < 20 && !(await focused.innerText()).includes(title); tries++) await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
    },
    run_command: runCommand,
    cursor: clickLine,
    async timeline() {
      await runCommand('timeline');
      await timeline().locator('header .chip').first().waitFor({ timeout: WAIT_MS });
    },
    async timeline_from_hover(text, word) {
      await hoverShows(text, word, [word, 'Show in timeline']); // not that of the line above, which the pointer came past
      await page.locator('.monaco-hover:visible a', { hasText: 'Show in timeline' }).first().click();
      await moveAway();
    },
    timeline_shows: (texts) =>
      eventually("the timeline's selection is another one", async () => {
        const shown = (await timeline().locator('aside .title').allInnerTexts()).join('\n');
        return [texts.every((text) => shown.includes(text)) && !(await timeline().locator('aside .skeleton').count()), shown];
      }),
    timeline_compares: () =>
      eventually('one timeline is drawn', async () => {
        const heads = await timeline().locator('aside h2').allTextContents();
        return [heads.some((each) => each === 'Selected, after'), heads];
      }),
    async timeline_plans() {
      const plan = timeline().locator('.plan');
      await plan.getByRole('button', { name: 'Plan what to checkpoint' }).click();
      await eventually(
        'the curve is not drawn',
        async () => {
          const said = await plan.innerText();
          return [/ MB: as it is/.test(said), said];
        },
        PLAN_MS,
      );
    },
    async timeline_search(text) {
      await timeline().locator('.search input').fill(text);
      await timeline().locator('.match', { hasText: text }).first().waitFor({ timeout: WAIT_MS });
      await timeline().locator('.search input').press('Enter');
    },
    async timeline_line(file, text) {
      await timeline().locator('.levels').press('g');
      await page.locator('.tab.active', { hasText: file }).waitFor({ timeout: WAIT_MS });
      await eventually(`no line shows ${text}`, async () => [(await lineWith(text)) !== undefined, '']);
    },
    async timeline_point(name) {
      const before = await editorLook();
      if (name === '') await timeline().locator('header').hover();
      else
        await timeline()
          .locator('.breakdown .slice', { hasText: new RegExp(`^${name} `) })
          .first()
          .hover();
      look = before;
    },
    async highlighted(text) {
      await eventually(`"${text}" is not highlighted`, async () => {
        const [line, highlighted] = [await lineWith(text), await highlightedLines()];
        return [
          line !== undefined && highlighted.some((top) => Math.abs(top - line.top) < 3),
          `line at ${line?.top}, highlighted at ${highlighted}`,
        ];
      });
      const now = await editorLook();
      if (JSON.stringify(now) !== JSON.stringify(look)) throw new Error(`highlighting moved the editor: ${JSON.stringify([look, now])}`);
    },
    not_highlighted: () =>
      eventually('a line stays highlighted', async () => {
        const highlighted = await highlightedLines();
        return [highlighted.length === 0, `highlighted at ${highlighted}`];
      }),
    async theme(name) {
      await page.keyboard.press('F1');
      const input = page.locator('.quick-input-widget input').first();
      await input.fill('>Preferences: Color Theme');
      await page
        .locator('.quick-input-list .monaco-list-row', { hasText: /Preferences: Color Theme/ })
        .first()
        .click();
      await page
        .locator('.quick-input-list .monaco-list-row', { hasText: /Light|Dark/ })
        .first()
        .waitFor();
      await input.fill(name);
      await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: name }).first().waitFor();
      await page.keyboard.press('Enter');
    },
    async timeline_contrast() {
      await eventually('the page is not in high contrast', () =>
        timeline()
          .locator('body')
          .evaluate((body) => {
            const lightness = (colour) =>
              (/[\d.]+/g[Symbol.match](colour) ?? []).slice(0, 3).reduce((sum, each) => sum + Number(each), 0) / 765;
            const style = getComputedStyle(body);
            const canvas = document.querySelector('.levels canvas');
            const [red, green, blue] = canvas.getContext('2d').getImageData(2, 2, 1, 1).data;
            const slice = getComputedStyle(document.querySelector('.slice'));
            const seen = {
              theme: body.className,
              text: lightness(style.color),
              ground: (red + green + blue) / 765,
              outline: slice.outlineStyle,
            };
            return [/high-contrast/.test(seen.theme) && seen.text > 0.9 && seen.ground < 0.1 && seen.outline === 'solid', seen];
          }),
      );
    },
    async hot_line(way, rank) {
      const from = (await place()).at;
      await runCommand(way);
      await hotPlace(rank, from);
    },
    async hot_list(rank) {
      const from = (await place()).at;
      await runCommand('hot');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: '\u2587' });
      await row.nth(rank - 1).waitFor({ timeout: WAIT_MS });
      const bars = (await row.allInnerTexts()).map((text) => text.split('\u2587').length - 1);
      if (bars[0] !== 10 || bars.some((bar, index) => index > 0 && bar > bars[index - 1])) throw new Error(`bars are ${bars}`);
      for (let down = 1; down < rank; down++) await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await hotPlace(rank, from);
    },
    async hot_view(rank) {
      await runCommand('view');
      const rows = page.locator('.pane-body [role="treeitem"]', { hasText: '\u2587' });
      await rows.nth(rank - 1).waitFor({ timeout: WAIT_MS });
      const shown = (await rows.nth(rank - 1).innerText()).replace(/[\u00a0\u2009]/g, ' ');
      await rows.nth(rank - 1).click();
      await eventually(`the cursor is not at ${shown}`, async () => {
        const { at, text } = await place();
        const [file, line] = (/([a-z_]+\.py):(\d+)/.exec(shown) ?? []).slice(1);
        return [file !== undefined && at.startsWith(file) && at.endsWith(`Ln ${line}`) && LABEL.test(text), `${at} ${text}`];
      });
    },
    async walkthrough(name, texts) {
      await runCommand('walkthrough');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first();
      await row.waitFor({ timeout: WAIT_MS });
      await row.click();
      const shown = page.locator('.gettingStartedContainer').first();
      await eventually('the walkthrough has not all texts', async () => {
        const text = await shown.innerText();
        return [texts.every((each) => text.includes(each)), text];
      });
    },
    async report(texts) {
      await runCommand('report');
      await eventually('the report has not all texts', async () => {
        const shown = (await lines()).map(({ text }) => text).join('\n');
        return [texts.every((text) => shown.includes(text)), shown];
      });
    },
    async printed(texts) {
      await runCommand('output');
      await eventually('the terminal has not all texts', async () => {
        const rows = await page.locator('.xterm-rows > div').allTextContents();
        const shown = rows.join('\n').replace(/\u00a0/g, ' ');
        return [texts.every((text) => shown.includes(text)), shown];
      });
      return () => runCommand('hidePanel');
    },
    async export(format) {
      await runCommand('export');
      await page.locator('.quick-input-widget input').first().fill(format);
      await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: format }).first().waitFor({ timeout: WAIT_MS });
      await page.keyboard.press('Enter');
      const file = path.join(workspace, `hotlens.${format}`);
      const input = page.locator('.quick-input-widget input').first();
      await eventually('no file is asked for', async () => [
        (await input.inputValue()).endsWith(`hotlens.${format}`),
        await input.inputValue(),
      ]);
      await page.keyboard.press('Enter');
      await eventually('nothing is written', () => [fs.existsSync(file), fs.readdirSync(workspace)]);
    },
    async set_arguments(line) {
      const button = page.locator('.notification-list-item .monaco-button', { hasText: 'Set arguments' }).first();
      await button.click({ timeout: WAIT_MS });
      const input = page.locator('.quick-input-widget input').first();
      await input.waitFor({ timeout: WAIT_MS });
      await input.fill(line);
      await page.keyboard.press('Enter');
      await status(/Profiling/).waitFor({ timeout: WAIT_MS });
    },
    async open_settings(name) {
      await page.locator('.notification-list-item .monaco-button', { hasText: 'Open Settings' }).first().click({ timeout: WAIT_MS });
      await page.locator('.settings-editor .setting-item-title', { hasText: name }).first().waitFor({ timeout: WAIT_MS });
    },
    async choose_run(command, name) {
      await runCommand(command);
      // Of interpreters the one that can train: the list puts others first once something is typed.
      const [of, typed] = command === 'interpreter' ? [name, 'PyTorch 2'] : ['train.py', name];
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: of });
      await row.filter({ hasText: typed }).first().waitFor({ timeout: WAIT_MS });
      await page.locator('.quick-input-widget input').first().fill(typed);
      await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: typed }).first().waitFor({ timeout: WAIT_MS });
      await page.keyboard.press('Enter');
      await status(/Profiling/).waitFor({ timeout: WAIT_MS });
    },
    progress: (word = 'Profil') => notification(word).waitFor(),
    async cancel(word = 'Profil') {
      await notification(word).hover();
      await cancelButton(word).click();
    },
    async finished(word) {
      if (word !== undefined) return cancelButton(word).waitFor({ state: 'detached', timeout: WAIT_MS });
      await status(/Profiling/)
        .waitFor({ timeout: 5000 })
        .catch(() => {}); // it may be over already
      await status(/Profiling/).waitFor({ state: 'detached', timeout: RUN_WAIT_MS });
      await cancelButton().waitFor({ state: 'detached', timeout: WAIT_MS });
    },
    async insert_above(text, line) {
      await clickLine(text);
      await page.keyboard.press('Home');
      await page.keyboard.press('Home');
      await page.keyboard.type(line);
      await page.keyboard.press('Enter');
    },
    async replace(text, old, replacement) {
      await clickLine(text);
      await page.keyboard.press('End');
      for (let count = 0; count < old.length; count++) await page.keyboard.press('Shift+ArrowLeft');
      await page.keyboard.type(replacement);
    },
    undo: (text) =>
      eventually(`undo does not bring back "${text}"`, async () => {
        const line = await lineWith(text);
        if (line === undefined) await page.keyboard.press('Control+Z');
        await sleep(100);
        return [line !== undefined, ''];
      }),
    async save() {
      await page.keyboard.press('Control+S');
      await page.locator('.tab.active.dirty').waitFor({ state: 'detached' });
    },
    async advice(text, message) {
      await page.locator('.editor-instance .squiggly-hint').first().waitFor({ timeout: FIRST_WAIT_MS });
      await hoverShows(text, text, [message]);
      return moveAway;
    },
    // The line may have another one, and its hover says what was measured there.
    no_advice: (text, message) =>
      eventually('the advice stays', async () => {
        if ((await page.locator('.editor-instance .squiggly-hint').count()) === 0) return [true, ''];
        await restOn(text, text);
        await sleep(600);
        const shown = await hoverText();
        await moveAway();
        return [shown !== '' && !shown.includes(message), shown];
      }),
    async tell_again(name) {
      await runCommand('silenced');
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: name });
      await row.first().waitFor({ timeout: WAIT_MS });
      await page.locator('.quick-input-widget input').first().fill(name);
      await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: name }).first().waitFor({ timeout: WAIT_MS });
      await page.keyboard.press('Enter');
    },
    async diagnostic(text, message) {
      await page.locator('.editor-instance .squiggly-error').first().waitFor({ timeout: WAIT_MS });
      await hoverShows(text, text, [message]);
    },
    message,
    async hottest_seen() {
      await message('Hottest line: ');
      const said = (await notification('Hottest line: ').innerText()).replace(/[\u00a0\u2009]/g, ' ');
      const [, file, line, label] = /Hottest line: (\S+):(\d+), (.*)\./.exec(said) ?? [];
      await eventually(`the cursor is not where "${said}"`, async () => {
        const { at, text } = await place();
        return [at === `${file} Ln ${line}` && text.endsWith(label), `${at} ${text}`];
      });
    },
    something_runs: () => eventually('no recorder process', async () => [pids('record') !== '', '']),
    nothing_runs: () =>
      eventually(
        'a recorder process is left',
        async () => {
          const left = pids('record');
          return [left === '', left];
        },
        3000,
      ),
    one_server: () =>
      eventually('not one server, or the one from before', async () => {
        const found = pids('lsp');
        if (!/^\d+$/.test(found) || found === server) return [false, found];
        server = found;
        return [true, found];
      }),
  };
}
