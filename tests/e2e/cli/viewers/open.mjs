// open.mjs FILE…: opens each file in the real speedscope (its release from npm, in Chromium) and checks it against speedscope's own schema.
// One line of JSON per file: {"profiles": number or 0 where it would not load, "complaints": what speedscope logged, "schema": errors or null}.
// "schema" is null for files of another format, such as Chrome's trace events, which speedscope imports too.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Ajv from 'ajv';
import { serve } from './files.mjs';
import { launch } from './loopback.mjs';

const LOAD_TIMEOUT_MS = 60_000;
const release = join(dirname(createRequire(import.meta.url).resolve('speedscope/package.json')), 'dist/release');
const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(join(release, 'file-format-schema.json'), 'utf8')));
const files = process.argv.slice(2);
const { base, close } = await serve(release, files);
const browser = await launch(base);

async function open(number) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (/Tried to end|still open|Failed|Error|rror:/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(`${base}/index.html#profileURL=${encodeURIComponent(`${base}/profile/${number}`)}&title=it`);
  const text = await page
    .waitForFunction(() => /Sandwich|Something went wrong/.test(document.body.innerText) && document.body.innerText, null, {
      timeout: LOAD_TIMEOUT_MS,
    })
    .then((handle) => handle.jsonValue())
    .catch(() => '');
  await page.close();
  const count = /\(\d+\/(\d+)\)/.exec(text);
  return { profiles: /Sandwich/.test(text) ? Number(count?.[1] ?? 1) : 0, complaints };
}

for (const [number, file] of files.entries()) {
  const document = JSON.parse(readFileSync(file, 'utf8'));
  const schema = document.$schema ? (validate(document) ? [] : validate.errors) : null;
  console.log(JSON.stringify({ ...(await open(number)), schema }));
}
await browser.close();
close();
