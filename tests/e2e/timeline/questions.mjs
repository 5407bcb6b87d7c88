// What a person who sees the page for the first time asks of it, on real traces: each answer is on the screen within three actions, and is
// what the server's own numbers say. SHOTS keeps what was seen.
import assert from "node:assert/strict";
import { AFTER, BEFORE, DEVICE, LARGE, open, stepLevel, kind, label } from "./open.mjs";
import { eventually } from "./page.mjs";

const MOST_ACTIONS = 3;
const RANKS = ["worker0_step_12.1694128201545.pt.trace.json.gz", "worker1_step_12.1694128201556.pt.trace.json.gz"];
const EARLY = "v2021-01_profiler_api_nw0.pt.trace.json.gz";

const largest = (list, value) => list.reduce((best, each) => (value(each) > value(best) ? each : best));

// The longest block of the step on any track that is work of this step.
function dominant(level) {
  const blocks = level.tracks.flatMap((track) =>
    track.blocks.duration.map((duration, index) => ({ duration, label: label(track, index), kind: kind(track, index), stage: track.blocks.stages[track.blocks.stage[index]] })));
  return largest(blocks.filter(({ kind, stage }) => kind === "stage" && stage !== "earlier_step"), ({ duration }) => duration);
}

class Visitor {
  constructor(timeline) {
    this.timeline = timeline;
    this.actions = 0;
  }

  act(action) {
    assert.ok(++this.actions <= MOST_ACTIONS, "too many actions");
    return action();
  }

  // The question is answered where the words are on the screen.
  async reads(question, place, words) {
    const text = () => this.timeline.page.locator(place).allInnerTexts().then((texts) => texts.join("\n"));
    let seen = "";
    await eventually(`${question} is not answered by "${words}" in ${place}`, async () => (seen = await text()).includes(words)).catch((error) => {
      throw new Error(`${error.message}; there stands: ${seen.slice(0, 400)}`);
    });
    this.actions = 0;
  }
}

const short = (name) => name.split(/::|\./).at(-1);

async function ask(world, file, what) {
  const { timeline, page, server } = await open(world, world.trace(file));
  const visitor = new Visitor(timeline);
  const overview = await timeline.ask("overview", {});
  await visitor.reads("what limits the step", "header .verdict", overview.verdict.evidence[0].what);
  await eventually("no breakdown", async () => (await page.locator(".breakdown .slice").count()) > 0);
  await world.shoot(page, `${what}-first`);
  const stage = dominant(await stepLevel(timeline));
  await visitor.act(() => timeline.press("ArrowRight"));
  await visitor.reads("which stage takes longest", ".spoken", stage.label.split(" › ")[0]);
  const rows = (await timeline.ask("breakdown", { metric: "time" })).rows;
  const modules = rows.filter(({ kind }) => kind === "module");
  if (modules.length > 0) {
    const module = largest(modules, ({ value }) => value);
    await visitor.act(() => page.locator(".breakdown button.slice", { hasText: module.label }).first().click());
    await visitor.reads("which module takes longest", "aside .title", short(module.label));
  }
  await visitor.act(() => page.locator("main .crumbs button").first().click());
  await world.shoot(page, `${what}-layer`);
  const { kernels } = await timeline.ask("details", { path: [] });
  const run = overview.hasDevice ? "Kernels" : "Operators";
  await page.goto("about:blank");
  await page.goto(server.address);
  await timeline.settled();
  await visitor.reads("what runs longest", "aside", run);
  assert.ok(kernels.length > 0);
  await visitor.reads("CPU or device", "aside", overview.hasDevice ? "device busy" : "CPU total");
}

export const asksCheckpointed = (world) => ask(world, DEVICE, "mi300");
export const asksLarge = (world) => ask(world, LARGE, "owl");
export const asksEarly = (world) => ask(world, EARLY, "v100");

// Which of two ranks waits for the other: one action for the other rank, one for the comparison.
export async function asksRanks(world) {
  const { timeline, page } = await open(world, RANKS.map((file) => world.trace(file)));
  const visitor = new Visitor(timeline);
  const here = await timeline.ask("overview", {});
  await visitor.act(() => page.getByLabel("the profile to compare with").selectOption(here.compareWith[0]));
  const { rows, before, after } = await timeline.ask("compare", { before: here.compareWith[0], after: here.profile.id });
  await visitor.reads("which rank is slower", ".compare .whole", after.stepNs < before.stepNs ? "▼" : "▲");
  await visitor.reads("in which module", ".compare", short(rows[0].module));
  await world.shoot(page, "ranks");
}

// What changed from one device to the other, and where.
export async function asksChange(world) {
  const { timeline, page } = await open(world, [AFTER, BEFORE].map((file) => world.trace(file)));
  const visitor = new Visitor(timeline);
  const here = await timeline.ask("overview", {});
  await visitor.act(() => page.getByLabel("the profile to compare with").selectOption(here.compareWith[0]));
  const { rows, before, after } = await timeline.ask("compare", { before: here.compareWith[0], after: here.profile.id });
  await visitor.reads("which device is slower", ".compare .whole", after.stepNs < before.stepNs ? "▼" : "▲");
  const worst = largest(rows.filter(({ change }) => change === "slower"), (row) => row.after - row.before);
  await visitor.reads("which module lost most", ".compare tr.change.slower", worst.module);
  await world.shoot(page, "change");
}
