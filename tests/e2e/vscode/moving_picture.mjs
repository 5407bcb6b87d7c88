// node moving_picture.mjs CODE_SERVER EXTENSION.vsix BIN_DIR EXAMPLE_DIR OUT.gif
// The moving picture of README.md, from the real editor: a script that was never profiled, its first profile, a hover, the timeline.
// HOTLENS_TEST_PYTHON is the Python with torch; its Pillow puts the pictures together.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { installExtension, sleep, startEditor } from './code_server.mjs';
import { makeSteps } from './steps.mjs';
import { prepareWorkspace } from '../workspace.mjs';

const [program, vsix, binDir, example, out] = process.argv.slice(2);
const python = process.env.HOTLENS_TEST_PYTHON;
const SETTLED_MS = 700;
const JOIN = `
import sys
from PIL import Image
out, *rest = sys.argv[1:]
pictures = [Image.open(name).convert("RGB").quantize(96, dither=Image.Dither.NONE) for name in rest[::2]]
pictures[0].save(out, save_all=True, append_images=pictures[1:], duration=[int(ms) for ms in rest[1::2]], loop=0, optimize=True)
`;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-picture-'));
const workspace = path.join(folder, 'digits');
installExtension(program, folder, vsix);
prepareWorkspace({ profiled: false }, example, workspace, '');
const editor = await startEditor({
  program,
  folder,
  environment: { ...process.env, VSCODE_CLI: '1', PATH: `${binDir}${path.delimiter}${process.env.PATH}` },
  trusted: true,
  user: {
    'workbench.colorTheme': 'Default Dark Modern',
    'editor.minimap.enabled': false,
    'editor.fontSize': 13,
    'breadcrumbs.enabled': false,
    'workbench.activityBar.location': 'hidden',
    'workbench.layoutControl.enabled': false,
    'window.commandCenter': false,
  },
  machine: { 'hotlens.python': python, 'hotlens.server.path': path.join(binDir, 'hotlens') },
  viewport: { width: 1000, height: 620 },
});
const { page } = editor;
const steps = makeSteps({ ...editor, workspace, workspacePids: '' });
const pictures = [];
async function picture(ms) {
  await sleep(SETTLED_MS);
  const file = path.join(folder, `${pictures.length}.png`);
  await page.screenshot({ path: file });
  pictures.push(file, String(ms));
}

// Its line in the middle.
async function toTheLoop() {
  await page.keyboard.press('Control+G');
  await page.locator('.quick-input-widget input').first().fill(':49');
  await sleep(SETTLED_MS);
  await page.keyboard.press('Enter');
}

try {
  await steps.open('train.py');
  await page
    .locator('.statusbar-item', { hasText: /Ln \d+/ })
    .first()
    .waitFor();
  await toTheLoop();
  await steps.lens('Profile');
  await page.keyboard.press('Control+B'); // the side bar tells nothing here
  await picture(1800);
  await steps.run_lens('Profile');
  await steps.progress();
  await sleep(2500);
  await picture(1800);
  await steps.finished();
  await steps.open('train.py');
  await toTheLoop();
  await steps.hint('loss.backward()', 'time');
  await picture(2600);
  await steps.open('blocks.py');
  await steps.hint('self.conv1 = conv3x3(', 'repeated');
  await page.locator('.notification-list-item').first().hover();
  await page.locator('.notification-list-item .codicon-notifications-clear').first().click();
  await page.mouse.move(300, 300);
  await picture(2200);
  const away = await steps.hover('self.conv1 = conv3x3(', 'conv1', ['conv1']);
  await picture(3600);
  await away();
  await steps.timeline();
  await page.mouse.move(300, 300); // from a tab, which would say where it lies
  await sleep(2500);
  await picture(3600);
} catch (error) {
  await page.screenshot({ path: `${out}.failed.png` });
  throw error;
} finally {
  await editor.close();
}
const joined = spawnSync(python, ['-c', JOIN, out, ...pictures], { encoding: 'utf8' });
if (joined.status !== 0) throw new Error(joined.stderr);
console.log(`${out}: ${pictures.length / 2} pictures, ${Math.round(fs.statSync(out).size / 1000)} kB`);
fs.rmSync(folder, { recursive: true, force: true });
process.exit(0);
