// node run.mjs HOTLENS [SHOTS] [NAME…]
// The timeline's page in Chromium on the real server with real traces. SHOTS receives a picture of every scenario; NAMEs choose some.
// Two scenarios at a time, each in a browser of its own. HOTLENS_TRACES names the folder of the traces; without it, traces that the tests recorded themselves (HOTLENS_OWN_TRACES) stand in for them.
import fs from 'node:fs';
import path from 'node:path';
import * as acting from './acting.mjs';
import * as batch from './batch.mjs';
import * as beside from './beside.mjs';
import * as helps from './helps.mjs';
import * as inputs from './inputs.mjs';
import * as lanes from './lanes.mjs';
import * as pins from './pins.mjs';
import * as plan from './plan.mjs';
import * as results from './results.mjs';
import { launch } from './page.mjs';
import { triedTwice } from '../second_try.mjs';
import { NoTrace, sayLeftOut, trace } from './traces.mjs';
import * as questions from './questions.mjs';
import * as readable from './readable.mjs';
import * as surroundings from './surroundings.mjs';
import * as whole from './whole.mjs';
import * as words from './words.mjs';

const [hotlens, shots, ...names] = process.argv.slice(2);
if (shots) fs.mkdirSync(shots, { recursive: true });

const BROWSERS = 2;
let passed = 0;
let failed = 0;
let leftOut = 0;

// What failed, or nothing.
async function once(browser, name, play) {
  const opened = []; // what is to be closed, last first
  let pictures = 0;
  const world = {
    browser,
    hotlens,
    trace,
    closing: (close) => void opened.push(close),
    shoot: (page, what) => (shots ? page.screenshot({ path: path.join(shots, `${name}-${what ?? ++pictures}.png`) }) : undefined),
  };
  let failure = await play(world).then(
    () => undefined,
    (error) => error,
  );
  while (opened.length > 0)
    await opened
      .pop()()
      .catch((error) => (failure ??= error));
  if (failure instanceof NoTrace) throw failure;
  return failure;
}

const all = Object.entries({
  ...acting,
  ...batch,
  ...beside,
  ...pins,
  ...plan,
  ...surroundings,
  ...inputs,
  ...lanes,
  ...helps,
  ...questions,
  ...readable,
  ...results,
  ...whole,
  ...words,
});
const waiting = all.filter(([name]) => names.length === 0 || names.includes(name));

async function playOne(browser, name, play) {
  const begun = Date.now();
  try {
    const failure = await triedTwice(`timeline  ${name}`, () => once(browser, name, play), failed);
    if (failure) failed++;
    else passed++;
    console.log(`${failure ? 'FAIL' : 'ok  '}  timeline  ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    if (failure) console.log(`      ${String(failure.stack).split('\n').slice(0, 8).join('\n      ')}`);
  } catch (error) {
    if (!(error instanceof NoTrace)) throw error;
    leftOut++;
    sayLeftOut(name);
  }
}

// Scenarios one after the other until none waits.
async function work() {
  const browser = await launch();
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await playOne(browser, ...next);
  await browser.close();
}

await Promise.all(Array.from({ length: BROWSERS }, work));
console.log(`${passed} passed, ${failed} failed${leftOut > 0 ? `, ${leftOut} LEFT OUT: HOTLENS_TRACES names no folder` : ''}`);
process.exit(failed === 0 && (leftOut === 0 || !process.env.CI) ? 0 : 1);
