// What a person does with the timeline. Every scenario starts its own server on a real trace; what is expected comes from the server's own
// answers, asked on a second connection, and from what a reader of the trace knows.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { eventually, serve, TimelinePage } from "./page.mjs";

const DEVICE = "mi300_resnet_act_checkpoint.json.gz";
const LARGE = "h100_google_owlv2-large-patch14-ensemble__1016001.json.gz";
const OLD = "v2021-06_resnet50_nw0_1623143089861.pt.trace.json.gz";
const BEFORE = "trace_diff_control_control.json.gz";
const AFTER = "trace_diff_test_test.json.gz";

async function open(world, profile, { fragment, folder, ...options } = {}) {
  const server = await serve(world.hotlens, profile, { folder });
  world.closing(server.stop);
  const timeline = await TimelinePage.open(world.browser, server.address, { fragment, ...options });
  world.closing(() => timeline.page.context().close());
  world.closing(async () => assert.deepEqual(timeline.errors, [], "errors of the page"));
  await timeline.settled();
  return { server, timeline, page: timeline.page };
}

const stepLevel = (timeline) => timeline.ask("level", { path: [], width: 1140 });

const kind = ({ blocks }, index) => blocks.kinds[blocks.kind[index]];
const label = ({ blocks }, index) => blocks.labels[blocks.label[index]];

// The widest block of a level that can be opened: [track, index].
function widest(level) {
  let best;
  level.tracks.forEach((track, row) =>
    track.blocks.duration.forEach((duration, index) => {
      if (track.blocks.open[index] === 1 && (best === undefined || duration > best.duration)) best = { row, index, duration };
    }));
  return best;
}

const differ = (a, b) => Math.max(...a.map((channel, index) => Math.abs(channel - b[index])));

async function drawn(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const overview = await timeline.ask("overview", {});
  assert.equal(await page.locator(".step").count(), overview.steps.length);
  assert.equal(await page.locator(".step.outlier").count(), overview.steps.filter(({ outlier }) => outlier).length);
  // In the middle of every block that is wide enough to aim at there is its colour, beside its last pixel the ground or a neighbour.
  const level = await stepLevel(timeline);
  const { trackWidth } = await timeline.geometry();
  const perPixel = (level.extent[1] - level.extent[0]) / trackWidth;
  const colours = new Map();
  let looked = 0;
  for (const [row, track] of level.tracks.entries()) {
    for (let index = 0; index < track.blocks.start.length && looked < 60; index++) {
      if (track.blocks.duration[index] < 8 * perPixel || ["idle", "wait"].includes(kind(track, index))) continue;
      const point = await timeline.pointOf(level, row, index);
      const colour = await timeline.colourAt({ x: point.x, y: point.y - 11 }); // above the text
      const key = `${track.kind} ${track.blocks.stages[track.blocks.stage[index]]}`;
      if (key.endsWith("waiting") || key.endsWith("earlier_step")) continue;
      if (colours.has(key)) assert.ok(differ(colours.get(key), colour) <= 3, `${key} is ${colour}, elsewhere ${colours.get(key)}`);
      colours.set(key, colour);
      looked++;
    }
  }
  assert.ok(looked >= 3, `only ${looked} blocks are wide enough`);
  const all = [...colours.values()];
  assert.ok(all.some((colour) => all.some((other) => differ(colour, other) > 30)), "all stages have one colour");
  await world.shoot(page);
}

async function keys(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  await timeline.press("ArrowRight");
  await eventually("the first arrow does not select the widest block", async () => (await timeline.selected()).startsWith(label(level.tracks[row], index)));
  // To the topmost track, its ends, and back to the widest block.
  for (let up = 0; up < level.tracks.length; up++) await timeline.press("ArrowUp");
  await timeline.press("End");
  const last = await timeline.selected();
  await timeline.press("Home");
  await eventually("Home does not leave the end", async () => (await timeline.selected()) !== last);
  const first = await timeline.selected();
  await timeline.press("ArrowRight");
  await eventually("the arrow does not move", async () => (await timeline.selected()) !== first);
  await timeline.press("ArrowLeft");
  await eventually("the arrow does not come back", async () => (await timeline.selected()) === first);
  for (let tries = 0; tries < 40 && !(await timeline.selected()).includes("can be opened"); tries++) await timeline.press("ArrowRight");
  await timeline.press("Enter");
  await eventually("Enter opens nothing", async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await timeline.press("ArrowDown");
  await timeline.press("?");
  assert.ok(await page.locator(".help").isVisible());
  await world.shoot(page, "help");
  await timeline.press("Escape");
  assert.ok(!(await page.locator(".help").isVisible()));
  await timeline.press("Escape");
  await eventually("Escape closes nothing", async () => (await timeline.crumbs()).length === 1);
  await timeline.press("Backspace");
  assert.match(await timeline.said(), /no level above/);
  const step = (await timeline.state()).step;
  const { steps } = await timeline.ask("overview", {});
  if (steps.length > 1) {
    await timeline.press(Number(step) > 0 ? "[" : "]");
    await eventually("another step is not shown", async () => (await timeline.state()).step !== step);
  }
}

async function mouse(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  const name = label(level.tracks[row], index);
  await page.mouse.move(point.x, point.y);
  await eventually("no tip", async () => (await page.locator(".tip.shown").innerText()).includes(name));
  await world.shoot(page, "tip");
  await page.mouse.click(point.x, point.y);
  await eventually("a click does not select", async () => (await timeline.selected()).startsWith(name));
  await eventually("no details", async () => (await timeline.details()).includes("of the step"));
  await page.mouse.wheel(0, -600);
  await eventually("the wheel does not zoom", async () => (await timeline.state()).from !== undefined);
  const before = await timeline.state();
  const { box, left, trackWidth } = await timeline.geometry();
  const at = ({ from, to }) => Number(from) + ((point.x - box.x - left) / trackWidth) * (Number(to) - Number(from));
  const middle = level.tracks[row].blocks.start[index] + level.tracks[row].blocks.duration[index] / 2;
  const pixel = (Number(before.to) - Number(before.from)) / trackWidth;
  assert.ok(Math.abs(at(before) - middle) < 3 * pixel, "the time under the pointer moved while zooming");
  await page.mouse.down();
  await page.mouse.move(point.x + 120, point.y, { steps: 6 });
  await page.mouse.up();
  await eventually("a drag does not pan", async () => Number((await timeline.state()).from) < Number(before.from));
  const panned = await timeline.state();
  assert.ok(Math.abs(Number(panned.to) - Number(panned.from) - (Number(before.to) - Number(before.from))) <= 2, "panning changed the zoom");
  await world.shoot(page, "zoomed");
  await timeline.press("f");
  await eventually("f does not fit", async () => (await timeline.state()).from === undefined);
  await page.mouse.dblclick(point.x, point.y);
  await eventually("a double click opens nothing", async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await world.shoot(page, "opened");
}

async function search(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  await timeline.press("/");
  await page.keyboard.type("conv");
  await eventually("no matches", async () => (await page.locator(".match").count()) > 1);
  await world.shoot(page, "matches");
  const first = await page.locator(".match .label").first().innerText();
  await page.keyboard.press("Enter");
  const deep = await eventually("the match is not selected", async () => (await timeline.state()).at);
  assert.ok(deep.length > 0 && first.toLowerCase().includes("conv"));
  await timeline.settled();
  await world.shoot(page, "found");
  await timeline.press("n");
  await eventually("n does not go on", async () => (await timeline.said()).startsWith("2 of"));
  await timeline.press("N");
  await eventually("N does not go back", async () => (await timeline.said()).startsWith("1 of"));
  await timeline.press("/");
  await page.keyboard.type("no such thing at all");
  await eventually("nothing is said about nothing", async () => (await page.locator(".matches").innerText()).includes("Nothing in this step"));
}

async function reload(world) {
  const { timeline, page, server } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  await page.mouse.dblclick(point.x, point.y);
  await eventually("nothing opened", async () => (await timeline.crumbs()).length === 2);
  await timeline.settled();
  await timeline.press("ArrowDown", "+", "+");
  await eventually("no zoom", async () => {
    const { to, zoom } = await timeline.state();
    return to ?? zoom;
  });
  const [state, crumbs] = [await timeline.state(), await timeline.crumbs()];
  // A second tab shows what the address says and goes its own way.
  const other = await TimelinePage.open(world.browser, server.address, { fragment: new URL(page.url()).hash.slice(1) });
  world.closing(() => other.page.context().close());
  await other.settled();
  assert.deepEqual(await other.crumbs(), crumbs);
  await other.press("Escape");
  await eventually("the second tab does not close its level", async () => (await other.crumbs()).length === 1);
  await page.reload();
  await timeline.settled();
  assert.deepEqual(await timeline.crumbs(), crumbs);
  assert.deepEqual(await timeline.state(), state);
}

async function restart(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hotlens-restart-"));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const first = await serve(world.hotlens, world.trace(DEVICE), { folder });
  const timeline = await TimelinePage.open(world.browser, first.address);
  world.closing(() => timeline.page.context().close());
  await timeline.settled();
  await first.stop();
  await eventually("nothing is said about the lost connection", async () => (await timeline.said()).includes("lost"));
  await world.shoot(timeline.page, "lost");
  // What was loaded stays on the screen, and its keys work.
  assert.ok((await timeline.crumbs()).length === 1);
  const second = await serve(world.hotlens, world.trace(DEVICE), { folder, port: first.port });
  world.closing(second.stop);
  await eventually("nothing is said about the old token", async () => (await timeline.said()).includes("token is not valid"));
  const fresh = await TimelinePage.open(world.browser, second.address, { fragment: new URL(timeline.page.url()).hash.slice(1) });
  world.closing(() => fresh.page.context().close());
  await fresh.settled();
}

async function admission(world) {
  const server = await serve(world.hotlens, world.trace(OLD));
  world.closing(server.stop);
  const page = await (await world.browser.newContext()).newPage();
  world.closing(() => page.context().close());
  for (const address of [`http://127.0.0.1:${server.port}/`, `${server.address}x`, `http://127.0.0.1:${server.port}/?token=`]) {
    const answer = await page.goto(address);
    assert.equal(answer.status(), 403, address);
    assert.ok((await page.locator("body").innerText()).trim().length > 10, "no sentence");
  }
  const answer = await page.goto(server.address);
  const policy = answer.headers()["content-security-policy"] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.ok(!policy.includes("unsafe"), policy);
}

async function themes(world) {
  const grounds = new Set();
  const texts = new Set();
  for (const options of [{ colorScheme: "dark" }, { colorScheme: "light" }, { colorScheme: "dark", contrast: "more" }, { forcedColors: "active" }]) {
    const { timeline, page } = await open(world, world.trace(DEVICE), options);
    const box = await page.locator(".levels").boundingBox();
    grounds.add(String(await timeline.colourAt({ x: box.x + 3, y: box.y + 3 })));
    texts.add(await page.evaluate(() => getComputedStyle(document.querySelector(".dim")).color));
    await world.shoot(page, Object.values(options).join("-"));
  }
  assert.ok(grounds.size >= 2, `grounds ${[...grounds]}`);
  assert.ok(texts.size >= 3, `texts ${[...texts]}`);
}

async function sizes(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  for (const [width, height] of [[200, 600], [420, 900], [900, 700], [1389, 868], [2560, 1400], [4000, 1200], [1389, 300]]) {
    await page.setViewportSize({ width, height });
    await timeline.settled();
    await page.waitForTimeout(150);
    const seen = await page.evaluate(() => {
      const canvas = document.querySelector(".levels canvas").getBoundingClientRect();
      const pane = document.querySelector(".levels");
      return { wide: document.documentElement.scrollWidth, canvas: canvas.width, pane: pane.clientWidth, tall: pane.clientHeight };
    });
    assert.ok(seen.wide <= width, `${width}: the page is ${seen.wide} wide`);
    assert.ok(Math.abs(seen.canvas - seen.pane) < 1.5, `${width}: canvas ${seen.canvas} in ${seen.pane}`);
    assert.ok(seen.tall >= 80, `${width}×${height}: only ${seen.tall} pixels for the levels`);
    const point = await timeline.pointOf(level, row, index);
    const { box } = await timeline.geometry();
    if (point.y + 20 > box.y + box.height) continue; // the pane is too low for this track
    const ground = await timeline.colourAt({ x: point.x, y: point.y + 16 });
    assert.ok(differ(await timeline.colourAt({ x: point.x, y: point.y - 11 }), ground) > 15, `${width}: no block where it should be`);
    await world.shoot(page, `${width}x${height}`);
  }
}

async function compare(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hotlens-compare-"));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  for (const file of [BEFORE, AFTER]) fs.copyFileSync(world.trace(file), path.join(folder, file));
  const { timeline, page } = await open(world, path.join(folder, AFTER), { folder });
  const { compareWith } = await timeline.ask("overview", {});
  if (compareWith.length === 0) return; // only bundles are found beside a trace
  await page.getByLabel("the profile to compare with").selectOption(compareWith[0]);
  await eventually("no comparison", async () => (await page.locator(".compare tr.change").count()) > 0);
  await world.shoot(page);
}

// A trace that somebody made to break the page: names that are markup, control characters, ten thousand letters.
const HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)", "\u202Eabc\u0000\u0007\n\r\t", "x".repeat(10000), "", "${7*7}{{7*7}}"];

function hostileTrace(file) {
  const event = (name, ts, dur, cat = "cpu_op") => ({ ph: "X", cat, name, pid: 1, tid: 1, ts, dur, args: { "External id": ts } });
  const steps = [0, 1, 2].flatMap((step) => [
    event(`ProfilerStep#${step}`, step * 10000, 9000, "user_annotation"),
    ...HOSTILE.map((name, index) => event(name, step * 10000 + 100 + index * 1000, 900)),
    ...HOSTILE.map((name, index) => event(`nn.Module: ${name}_0`, step * 10000 + 150 + index * 1000, 800, "python_function")),
  ]);
  fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents: steps }));
}

async function hostile(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hotlens-hostile-"));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "<b>trace.json");
  hostileTrace(file);
  const { timeline, page } = await open(world, file, { folder });
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs++;
    return dialog.dismiss();
  });
  await timeline.press("ArrowRight", "Enter", "ArrowDown", "Enter", "ArrowDown", "ArrowRight");
  await timeline.settled();
  await timeline.press("/");
  await page.keyboard.type("a");
  await page.waitForTimeout(400);
  await world.shoot(page);
  assert.equal(dialogs, 0);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("img, script:not([src]), iframe, b b")].map(({ outerHTML }) => outerHTML)), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "a long name makes the page wide");
}

// The picture and the window as files: real text in the SVG, an image in the PNG, a trace that can be read for Perfetto.
async function exports(world) {
  const { timeline, page } = await open(world, world.trace(DEVICE));
  const save = async (key) => {
    const [download] = await Promise.all([page.waitForEvent("download"), timeline.press(key)]);
    return { name: download.suggestedFilename(), data: fs.readFileSync(await download.path()) };
  };
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const svg = await save("e");
  assert.match(svg.name, /\.svg$/);
  assert.match(svg.data.toString(), /^<svg /);
  assert.ok(svg.data.toString().includes(`>${label(level.tracks[row], index)} `), "the widest block's name is not in the picture");
  const png = await save("E");
  assert.deepEqual([...png.data.subarray(1, 4)], [...Buffer.from("PNG")]);
  const trace = JSON.parse((await save("p")).data.toString());
  assert.ok((trace.traceEvents ?? trace).length > 10, "the window holds nothing");
}

const span = (name, ts, dur, cat = "cpu_op") => ({ ph: "X", cat, name, pid: 1, tid: 1, ts, dur, args: { "External id": ts } });

// Traces with next to nothing in them, or far too much.
const ODD = {
  "one-event": [span("aten::add", 10, 5)],
  "many-steps": Array.from({ length: 400 }, (_, step) => [
    span(`ProfilerStep#${step}`, step * 1000, step === 77 ? 1900 : 900 + (step % 7), "user_annotation"),
    span("aten::mm", step * 1000 + 50, 700),
  ]).flat(),
  "many-threads": [
    span("ProfilerStep#1", 0, 1e6, "user_annotation"),
    ...Array.from({ length: 3000 }, (_, thread) => ({ ...span("aten::mm", 10 + thread, 5000), tid: 10 + thread })),
  ],
  "tiny-and-long": [span("ProfilerStep#1", 0, 3.6e9, "user_annotation"), span("aten::mm", 5, 0.001), span("aten::add", 3.5e9, 1)],
};

async function odd(world) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "hotlens-odd-"));
  world.closing(async () => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [name, traceEvents] of Object.entries(ODD)) {
    const file = path.join(folder, `${name}.json`);
    fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents }));
    const server = await serve(world.hotlens, file, { folder });
    world.closing(server.stop);
    const timeline = await TimelinePage.open(world.browser, server.address);
    world.closing(() => timeline.page.context().close());
    // Drawn, or a sentence that says why not.
    await eventually(`${name}: neither a picture nor a sentence`, async () =>
      (await timeline.crumbs()).length > 0 && ((await timeline.page.locator(".skeleton").count()) === 0 || /[a-z]{3}.*\./.test(await timeline.said())));
    await timeline.press("ArrowRight", "+", "+", "-", "Enter", "End", "f", "Escape");
    await world.shoot(timeline.page, name);
    assert.deepEqual(timeline.errors, [], name);
  }
}

// Frames while the wheel turns and the mouse drags, on the largest shared trace: the page's own work, measured around every frame.
async function frames(world) {
  const { timeline, page } = await open(world, world.trace(LARGE));
  // The first picture on a second page: the profile is open by now.
  const other = await TimelinePage.open(world.browser, (await timeline.page.evaluate(() => location.origin + "/" + location.search)));
  world.closing(() => other.page.context().close());
  await other.settled();
  const first = await other.page.evaluate(() => performance.getEntriesByName("hotlens first picture")[0]?.startTime);
  console.log(`      first picture ${Math.round(first)} ms after the address was opened`);
  const level = await stepLevel(timeline);
  const { row, index } = widest(level);
  const point = await timeline.pointOf(level, row, index);
  await page.mouse.dblclick(point.x, point.y);
  await timeline.settled();
  await page.evaluate(() => {
    window.frameTimes = [];
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (draw) =>
      ask((at) => {
        const begun = performance.now();
        draw(at);
        window.frameTimes.push(performance.now() - begun);
      });
  });
  await page.mouse.move(point.x, point.y);
  for (let turn = 0; turn < 60; turn++) await page.mouse.wheel(0, turn % 30 < 15 ? -120 : 120);
  await page.mouse.wheel(0, -900);
  await page.mouse.down();
  for (let move = 0; move < 60; move++) await page.mouse.move(point.x + ((move * 37) % 400) - 200, point.y);
  await page.mouse.up();
  const times = (await page.evaluate(() => window.frameTimes)).sort((a, b) => a - b);
  const p = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  console.log(`      ${times.length} frames: p50 ${p(0.5).toFixed(1)} ms, p95 ${p(0.95).toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms`);
  assert.ok(times.length >= 20, "the page did not draw");
  assert.ok(p(0.95) < 50, `a frame takes ${p(0.95)} ms`); // far above the aim: the machine of a test is busy
}

export const scenarios = { drawn, keys, mouse, search, reload, restart, admission, themes, sizes, compare, hostile, exports, odd, frames };
