// A private code-server with the extension installed, and Debian's Chromium to look at it.
import { chromium } from 'playwright-core';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

// No welcome page, tips, updates or chat; nothing that types or pops up by itself; no folder of an earlier window.
const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'git.enabled': false,
  'files.hotExit': 'off',
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.suggestOnTriggerCharacters': false,
  'editor.parameterHints.enabled': false,
  'editor.autoIndent': 'none',
  'editor.autoClosingBrackets': 'never',
  'editor.wordBasedSuggestions': 'off',
  'editor.occurrencesHighlight': 'off',
  'terminal.integrated.gpuAcceleration': 'off', // text that can be read from the page
};

const CHROMIUM_ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const START_MS = 60000; // two start at once, on a busy machine

export function installExtension(program, folder, vsix) {
  const run = spawnSync(program, [...common(folder), '--install-extension', vsix], { encoding: 'utf8' });
  if (!/successfully installed/.test(run.stdout)) throw new Error(`the extension was not installed: ${run.stdout}${run.stderr}`);
}

function common(folder) {
  const at = (name) => path.join(folder, name);
  return ['--config', at('config.yaml'), '--user-data-dir', at('user'), '--extensions-dir', at('ext')];
}

// One code-server with its browser page, for one scenario. `machine` are settings of machine scope, `folders` the file that opens several.
export async function startEditor({ program, folder, folders, environment, user, machine, trusted, viewport }) {
  const data = path.join(folder, 'user');
  for (const stale of ['Backups', 'workspaceStorage', 'History']) {
    fs.rmSync(path.join(data, 'User', stale), { recursive: true, force: true });
  }
  writeJson(path.join(data, 'User', 'settings.json'), { ...QUIET, ...user });
  writeJson(path.join(data, 'Machine', 'settings.json'), machine);
  const port = await freePort();
  const log = fs.openSync(path.join(folder, 'code-server.log'), 'a');
  const server = spawn(
    program,
    [
      ...common(folder),
      '--auth',
      'none',
      '--bind-addr',
      `127.0.0.1:${port}`,
      '--disable-telemetry',
      '--disable-update-check',
      '--disable-getting-started-override',
      ...(trusted ? ['--disable-workspace-trust'] : []),
    ],
    { stdio: ['ignore', log, log], env: environment },
  );
  const gone = new Promise((resolve) => server.once('exit', resolve));
  let browser;
  const close = async () => {
    await browser?.close();
    server.kill('SIGTERM'); // it ends its own processes
    await Promise.race([gone, sleep(5000)]);
  };
  try {
    await answers(`http://127.0.0.1:${port}/healthz`);
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
    browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
    const page = await (await browser.newContext({ viewport })).newPage();
    page.on('dialog', (dialog) => dialog.accept()); // "leave the page?" of a changed file
    return { page, close, url: (workspace, file) => openUrl(port, workspace, file, folders) };
  } catch (error) {
    await close();
    throw error;
  }
}

function openUrl(port, workspace, file, folders) {
  const uri = `vscode-remote://127.0.0.1:${port}${encodeURI(path.join(workspace, file))}`;
  const payload = encodeURIComponent(JSON.stringify([['openFile', uri]]));
  const opened = folders === undefined ? `folder=${encodeURIComponent(workspace)}` : `workspace=${encodeURIComponent(folders)}`;
  return `http://127.0.0.1:${port}/?${opened}&payload=${payload}`;
}

function writeJson(file, value) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify(value));
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function answers(url) {
  for (const begun = Date.now(); Date.now() - begun < START_MS; await sleep(50)) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      /* not yet */
    }
  }
  throw new Error(`no answer from ${url}`);
}

export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
