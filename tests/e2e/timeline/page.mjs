// The real server with a real trace, and Debian's Chromium to look at its page.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

// The browser driver is installed once, for both kinds of tests.
const { chromium } = createRequire(new URL('../vscode/package.json', import.meta.url))('playwright-core');

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
const WAIT_MS = 20000;
const ADDRESS_REST_MS = 800;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function eventually(what, look, ms = WAIT_MS) {
  let seen;
  for (const begun = Date.now(); Date.now() - begun < ms; await sleep(30)) {
    seen = await look();
    if (seen) return seen;
  }
  throw new Error(`${what}; seen: ${JSON.stringify(seen)}`);
}

// `hotlens serve` on a profile, or several, in a folder of its own; `address` is the line that it prints.
export async function serve(hotlens, profile, { port = 0, folder } = {}) {
  const cwd = folder ?? fs.mkdtempSync(path.join(os.tmpdir(), 'hotlens-timeline-'));
  const args = ['serve', ...[profile].flat(), '--no-open', ...(port === 0 ? [] : ['--port', String(port)])];
  const child = spawn(hotlens, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += text));
  const address = await Promise.race([
    new Promise((resolve) =>
      readline.createInterface({ input: child.stdout }).on('line', (line) => line.startsWith('http') && resolve(line.trim())),
    ),
    gone.then(() => Promise.reject(new Error(`hotlens serve ended: ${complaint}`))),
    sleep(WAIT_MS).then(() => Promise.reject(new Error('hotlens serve printed no address'))),
  ]);
  const stop = async () => {
    child.kill('SIGTERM');
    await gone;
    if (folder === undefined) fs.rmSync(cwd, { recursive: true, force: true });
  };
  return { address, port: Number(new URL(address).port), stop, pid: child.pid };
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: CHROMIUM_ARGS });

// What a person sees and does on one page.
export class TimelinePage {
  constructor(page) {
    this.page = page;
    this.errors = [];
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on(
      'console',
      (message) => message.type() === 'error' && /Content Security|Refused/.test(message.text()) && this.errors.push(message.text()),
    );
  }

  static async open(browser, address, { fragment = 'path=', waitUntil = 'load', ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1389, height: 868 }, colorScheme: 'dark', ...options });
    const opened = new TimelinePage(await context.newPage());
    await opened.page.goto(`${address}${fragment === '' ? '' : `#${fragment}`}`, { waitUntil });
    return opened;
  }

  // Waits until nothing is missing: no skeleton, every open level has its name.
  async settled() {
    await eventually('the page is not drawn', async () => {
      const { skeletons, crumbs, chips } = await this.page.evaluate(() => ({
        skeletons: document.querySelectorAll('.skeleton').length,
        crumbs: document.querySelectorAll('main .crumbs button').length,
        chips: document.querySelectorAll('header .chip').length,
      }));
      return skeletons === 0 && crumbs > 0 && chips > 0;
    });
    await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return this;
  }

  // The address follows the last of many changes a moment later: waits until it has stood still for longer than that.
  async addressAtRest() {
    let [address, since] = ['', Date.now()];
    await eventually('the address never stands still', () => {
      if (this.page.url() !== address) [address, since] = [this.page.url(), Date.now()];
      return Date.now() - since > ADDRESS_REST_MS;
    });
    return this.state();
  }

  crumbs = () => this.page.locator('main .crumbs button').allInnerTexts();
  selected = () => this.page.locator('.spoken').innerText();
  said = () => this.page.locator('.said').innerText();
  details = () => this.page.locator('aside').innerText();
  state = async () => Object.fromEntries(new URLSearchParams(new URL(this.page.url()).hash.slice(1)));
  press = (...keys) => keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());

  // Asks the server itself, over a connection of its own.
  ask(method, params) {
    return this.page.evaluate(
      ([method, params]) =>
        new Promise((resolve, reject) => {
          const socket = new WebSocket(`ws://${location.host}/ws?token=${sessionStorage.getItem('hotlens-token')}`);
          socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: `hotlens/timeline/${method}`, params }));
          socket.onerror = () => reject(new Error('no connection'));
          socket.onmessage = ({ data }) => {
            const message = JSON.parse(data);
            if (message.id !== 1) return;
            socket.close();
            message.error ? reject(new Error(message.error.message)) : resolve(message.result);
          };
        }),
      [method, params],
    );
  }

  // Where the tracks of a level begin and end on the screen, found from the same measures that the page is laid out with.
  async geometry() {
    const box = await this.page.locator('.levels').boundingBox();
    const scroll = await this.page.evaluate(() => document.querySelector('.levels').scrollTop);
    const width = await this.page.evaluate(() => document.querySelector('.levels').clientWidth);
    const names = Math.round(Math.min(136, Math.max(24, width * 0.14)));
    return { box, scroll, left: 12 + names, trackWidth: Math.max(1, width - names - 24), firstTrack: 12 + 20 + 20, track: 34, height: 28 };
  }

  // The middle of a block of the topmost level.
  async pointOf(level, track, index) {
    const { box, scroll, left, trackWidth, firstTrack, track: distance, height } = await this.geometry();
    const { start, duration } = level.tracks[track].blocks;
    const [from, to] = level.extent;
    const middle = start[index] + duration[index] / 2;
    return {
      x: box.x + left + ((middle - from) / (to - from)) * trackWidth,
      y: box.y + firstTrack + track * distance + height / 2 - scroll,
    };
  }

  // The colour of the canvas at a point of the screen: red, green, blue.
  colourAt({ x, y }) {
    return this.page.evaluate(
      ([x, y]) => {
        const canvas = document.querySelector('.levels canvas');
        const box = canvas.getBoundingClientRect();
        const ratio = canvas.width / box.width;
        return [
          ...canvas
            .getContext('2d')
            .getImageData(Math.round((x - box.x) * ratio), Math.round((y - box.y) * ratio), 1, 1)
            .data.slice(0, 3),
        ];
      },
      [x, y],
    );
  }
}
