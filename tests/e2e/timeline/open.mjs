// Real traces that the scenarios use, and what they all begin with. What is expected comes from the server's own answers, asked on a second
// connection, and from what a reader of the trace knows.
import assert from 'node:assert/strict';
import { serve, TimelinePage } from './page.mjs';

export const DEVICE = 'mi300_resnet_act_checkpoint.json.gz';
export const LARGE = 'h100_google_owlv2-large-patch14-ensemble__1016001.json.gz';
export const OLD = 'v2021-06_resnet50_nw0_1623143089861.pt.trace.json.gz';
export const BEFORE = 'trace_diff_control_control.json.gz';
export const AFTER = 'trace_diff_test_test.json.gz';

export async function openPage(world, address, options) {
  const timeline = await TimelinePage.open(world.browser, address, options);
  world.closing(() => timeline.page.context().close());
  world.closing(async () => assert.deepEqual(timeline.errors, [], 'errors of the page'));
  await timeline.settled();
  return { timeline, page: timeline.page };
}

export async function open(world, profile, { folder, ...options } = {}) {
  const server = await serve(world.hotlens, profile, { folder });
  world.closing(server.stop);
  return { server, ...(await openPage(world, server.address, options)) };
}

export const stepLevel = (timeline) => timeline.ask('level', { path: [], width: 1140 });

export const kind = ({ blocks }, index) => blocks.kinds[blocks.kind[index]];

export const label = ({ blocks }, index) => blocks.labels[blocks.label[index]];

// The widest block of a level that can be opened: [track, index].
export function widest(level) {
  let best;
  level.tracks.forEach((track, row) =>
    track.blocks.duration.forEach((duration, index) => {
      if (track.blocks.open[index] === 1 && (best === undefined || duration > best.duration)) best = { row, index, duration };
    }),
  );
  return best;
}

export const largest = (list, value) => list.reduce((best, each) => (value(each) > value(best) ? each : best));

// The stage of this step that takes most time, on the host or on the device: steps differ, so what is true of their medians need not be of one.
export function leading(level) {
  const sums = {};
  for (const track of level.tracks) {
    track.blocks.duration.forEach((duration, index) => {
      const stage = track.blocks.stages[track.blocks.stage[index]];
      if (kind(track, index) !== 'stage' || stage === 'earlier_step') return;
      const sum = (sums[stage] ??= { stage, host: 0, device: 0 });
      sum[track.kind === 'host' ? 'host' : 'device'] += duration;
    });
  }
  return largest(Object.values(sums), ({ host, device }) => Math.max(host, device)).stage;
}

export const differ = (a, b) => Math.max(...a.map((channel, index) => Math.abs(channel - b[index])));
