// Draws what stands below the tracks: heads, ranks, flames and counters.
import { bytes } from '../base/format';
import { blend, parseColour, textOn, type Colours } from '../base/palette';
import { COUNTER_HEIGHT, FLAME_HEIGHT, frameName, HEAD_HEIGHT, RANK_HEIGHT, valueAt, type LaneRow } from '../layout/lanes';
import { labelThatFits, PADDING, type LevelLayout } from '../layout/layout';
import { toPixel } from '../layout/scale';
import type { Counter, Flame, FlameRow, RankLane, Stretches } from '../server/lane_messages';
import type { Pen } from './pen';
import { LABEL_FROM, type inks } from './track';

const INSET = 14; // pixels, of a thread below the head of all
const THIN = 0.5; // pixels: what is narrower is drawn so wide
const OPACITY: Readonly<Record<string, number>> = { own: 0.55, module: 0.3, python: 0.16, range: 0.3, launch: 0.3 };
const AREA = 0.22; // opacity below a counter's line
const LABEL_PADDING = 4;
const LABEL_HEIGHT = 16;
const LINE = 1.5;
const WORK_HEIGHT = 11; // of a rank's work, above its collectives
const WORK = 0.55; // opacity
const WAITING = 0.35; // opacity below the lines

export const counted = (counter: Counter, value: number): string =>
  counter.unit === 'bytes' ? bytes(value) : `${value} ${value === 1 ? 'launch' : 'launches'}`;

export function peakWords(counter: Counter): string {
  if (counter.unit === 'bytes') return `peak ${bytes(counter.peak.value)}`;
  const mean = counter.mean === undefined ? '' : `, mean ${counter.mean >= 10 ? Math.round(counter.mean) : counter.mean.toFixed(1)}`;
  return `at most ${counter.peak.value}${mean}`;
}

function drawHead(pen: Pen, row: LaneRow & { kind: 'head' }, room: number, colours: Colours): void {
  const x = PADDING + row.inset * INSET;
  pen.text(x, row.top + HEAD_HEIGHT / 2, row.open ? '▾' : '▸', colours.text);
  pen.text(x + INSET, row.top + HEAD_HEIGHT / 2, labelThatFits([row.text], room - x - INSET, pen.measure), colours.dim);
}

// A person's own functions stand out, modules and ranges less, what is torch's and Python's least; operators have their stage's colour.
function barInk(
  kind: string,
  stage: string,
  colours: Colours,
  ink: ReturnType<typeof inks>,
): { fill: string; text: string; opacity: number } {
  if (kind === 'operator') return ink(stage, false);
  const fill = kind === 'own' ? colours.accent : colours.dim;
  const opacity = OPACITY[kind] ?? OPACITY['python']!;
  const [over, ground] = [parseColour(fill), parseColour(colours.ground)];
  const text = over === undefined || ground === undefined ? colours.text : textOn(blend(over, ground, opacity));
  return { fill, text, opacity };
}

function drawFlameRow(
  pen: Pen,
  flame: Flame,
  row: FlameRow,
  top: number,
  level: LevelLayout,
  colours: Colours,
  ink: ReturnType<typeof inks>,
): void {
  const { scale } = level;
  const [from, to] = scale.view;
  const height = FLAME_HEIGHT - 1;
  row.start.forEach((start, index) => {
    const end = start + row.duration[index]!;
    if (end <= from || start >= to) return;
    const x = toPixel(scale, Math.max(from, start));
    const width = Math.max(THIN, toPixel(scale, Math.min(to, end)) - x);
    const { fill, text, opacity } = barInk(flame.kinds[row.kind[index]!]!, flame.stages[row.stage[index]!]!, colours, ink);
    pen.rect(x, top, width > 2 ? width - 1 : width, height, fill, opacity);
    if (colours.theme === 'contrast' && width > LABEL_PADDING) pen.frame(x, top, width - 1, height, colours.text, 1);
    if (width < LABEL_FROM) return;
    const label = flame.labels[row.label[index]!]!;
    const words = labelThatFits([frameName(label)], width - 2 * LABEL_PADDING, pen.measure);
    pen.text(x + LABEL_PADDING, top + height / 2, words, text);
  });
}

// A step line over a tinted area; where much changes within a pixel the area reaches the most of it.
function drawCounter(pen: Pen, counter: Counter, top: number, level: LevelLayout, colours: Colours, at: number | undefined): void {
  const { scale } = level;
  const [from, to] = [scale.view[0], Math.min(scale.view[1], counter.length)];
  const bottom = top + COUNTER_HEIGHT;
  const highest = Math.max(1, counter.peak.value);
  const yOf = (value: number): number => bottom - (value / highest) * (COUNTER_HEIGHT - 2);
  const name = labelThatFits([counter.name, counter.name.split(',')[0]!], scale.left - PADDING - INSET - 6, pen.measure);
  pen.text(PADDING, top + COUNTER_HEIGHT / 2, '▾', colours.text);
  pen.text(PADDING + INSET, top + COUNTER_HEIGHT / 2, name, colours.dim);
  let reached = scale.left;
  counter.start.forEach((start, index) => {
    const end = counter.start[index + 1] ?? to;
    if (end <= from || start >= to) return;
    const x = Math.round(toPixel(scale, Math.max(from, start)));
    const width = Math.max(1, Math.round(toPixel(scale, Math.min(to, end))) - x);
    const [least, most] = [yOf(counter.least[index]!), yOf(counter.most[index]!)];
    if (x + width > reached) pen.rect(Math.max(x, reached), most, x + width - Math.max(x, reached), bottom - most, colours.accent, AREA);
    reached = Math.max(reached, x + width);
    pen.rect(x, most, width, Math.max(LINE, least - most), colours.accent, 0.9);
  });
  pen.line(scale.left, bottom, scale.left + scale.width, bottom, colours.line);
  drawPeak(pen, counter, name === '' ? `${counter.name.split(',')[0]}: ` : '', top, level, colours);
  const value = at === undefined ? undefined : valueAt(counter, at);
  if (at === undefined || value === undefined || at > counter.length) return;
  const x = toPixel(scale, at);
  pen.rect(x, top, 1, COUNTER_HEIGHT, colours.text, 0.6);
  pen.rect(x - 2, yOf(value) - 2, 5, 5, colours.text);
}

// The parts of a list that are seen, as left edges and widths.
function seenOf({ start, duration }: Stretches, { scale }: LevelLayout): (readonly [x: number, width: number])[] {
  const [from, to] = scale.view;
  return start.flatMap((begin, index) => {
    const end = begin + duration[index]!;
    if (end <= from || begin >= to) return [];
    const x = toPixel(scale, Math.max(from, begin));
    return [[x, Math.max(THIN, toPixel(scale, Math.min(to, end)) - x)] as const];
  });
}

// Two bands: what the rank works, and below what it spends in collectives, waiting hatched.
function drawRank(pen: Pen, rank: RankLane, top: number, level: LevelLayout, colours: Colours, ink: ReturnType<typeof inks>): void {
  const name = `rank ${rank.rank}${rank.shown ? ', shown' : ''}`;
  const [middle, below, height] = [top + RANK_HEIGHT / 2, top + WORK_HEIGHT + 1, RANK_HEIGHT - WORK_HEIGHT - 3];
  const words = labelThatFits([name, `rank ${rank.rank}`, `${rank.rank}`], level.scale.left - PADDING - INSET - 6, pen.measure);
  pen.text(PADDING + INSET, middle, words, rank.shown ? colours.text : colours.dim);
  const [waiting, exchange] = [ink('waiting', false).fill, ink('communication', false).fill];
  for (const [x, width] of seenOf(rank.work, level)) pen.rect(x, top, width, WORK_HEIGHT, colours.accent, WORK);
  for (const [x, width] of seenOf(rank.transferring, level)) pen.rect(x, below, width, height, exchange);
  for (const [x, width] of seenOf(rank.waiting, level)) {
    pen.rect(x, below, width, height, waiting, WAITING);
    if (width >= 2) pen.hatch(x, below, width, height, waiting);
  }
}

function drawPeak(pen: Pen, counter: Counter, name: string, top: number, { scale }: LevelLayout, colours: Colours): void {
  const x = toPixel(scale, counter.peak.time);
  const right = scale.left + scale.width;
  const words = name + peakWords(counter);
  const room = pen.measure(words) + 2 * LABEL_PADDING;
  const seen = counter.unit === 'bytes' && x >= scale.left && x <= right;
  if (seen) {
    pen.rect(x - 1, top, 2, COUNTER_HEIGHT, colours.text, 0.8);
    pen.polygon(
      [
        [x - 4, top - 5],
        [x + 5, top - 5],
        [x + 0.5, top + 1],
      ],
      colours.text,
      1,
    );
  }
  const left = !seen ? right - room : x + room + LABEL_PADDING > right ? x - room - 2 : x + LABEL_PADDING;
  if (left < scale.left) return;
  pen.rect(left, top + COUNTER_HEIGHT - LABEL_HEIGHT, room, LABEL_HEIGHT - 1, colours.ground, 0.8);
  pen.text(left + LABEL_PADDING, top + COUNTER_HEIGHT - LABEL_HEIGHT / 2, words, colours.text);
}

// `at`: the moment under the pointer, where that is on a counter.
export function drawLanes(
  pen: Pen,
  level: LevelLayout,
  room: number,
  colours: Colours,
  ink: ReturnType<typeof inks>,
  seen: readonly [top: number, bottom: number],
  at: { readonly counter: string; readonly at: number } | undefined,
): void {
  for (const row of level.lanes) {
    if (row.top > seen[1] || row.top + COUNTER_HEIGHT < seen[0]) continue;
    if (row.kind === 'head') drawHead(pen, row, room, colours);
    else if (row.kind === 'rank') drawRank(pen, row.rank, row.top, level, colours, ink);
    else if (row.kind === 'flame') drawFlameRow(pen, row.thread.flame!, row.row, row.top, level, colours, ink);
    else drawCounter(pen, row.counter, row.top, level, colours, at?.counter === row.counter.id ? at.at : undefined);
  }
}
