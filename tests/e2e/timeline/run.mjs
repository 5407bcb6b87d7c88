// node run.mjs HOTLENS TRACES [SHOTS] [NAME…]
// The timeline's page in Chromium on the real server with real traces. SHOTS receives a picture of every scenario; NAMEs choose some.
import fs from "node:fs";
import path from "node:path";
import * as acting from "./acting.mjs";
import * as inputs from "./inputs.mjs";
import * as results from "./results.mjs";
import { launch } from "./page.mjs";
import * as questions from "./questions.mjs";
import * as readable from "./readable.mjs";
import * as surroundings from "./surroundings.mjs";
import * as whole from "./whole.mjs";

const [hotlens, traces, shots, ...names] = process.argv.slice(2);
if (shots) fs.mkdirSync(shots, { recursive: true });

const browser = await launch();
let passed = 0;
let failed = 0;
for (const [name, play] of Object.entries({ ...acting, ...surroundings, ...inputs, ...questions, ...readable, ...results, ...whole })) {
  if (names.length > 0 && !names.includes(name)) continue;
  const begun = Date.now();
  const opened = []; // what is to be closed, last first
  let pictures = 0;
  const world = {
    browser,
    hotlens,
    trace: (file) => path.join(traces, file),
    closing: (close) => void opened.push(close),
    shoot: (page, what) => (shots ? page.screenshot({ path: path.join(shots, `${name}-${what ?? ++pictures}.png`) }) : undefined),
  };
  let failure;
  try {
    await play(world);
    passed++;
  } catch (error) {
    failure = error;
    failed++;
  }
  while (opened.length > 0) await opened.pop()().catch((error) => (failure ??= error));
  console.log(`${failure ? "FAIL" : "ok  "}  timeline  ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
  if (failure) console.log(`      ${String(failure.stack).split("\n").slice(0, 8).join("\n      ")}`);
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
