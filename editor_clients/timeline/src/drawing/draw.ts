// Draws the levels with a pen: what stands where comes from layout/layout.ts, colours from base/palette.ts.
import { axisUnit, time } from '../base/format';
import type { Colours } from '../base/palette';
import {
  AXIS_HEIGHT,
  connectorBetween,
  labelThatFits,
  layoutAxis,
  layoutTrack,
  PADDING,
  TRACK_HEIGHT,
  type LevelLayout,
  type Picture,
} from '../layout/layout';
import { GAP_WIDTH, toPixel } from '../layout/scale';
import type { Arrow } from '../server/details_messages';
import type { Path, Span } from '../server/messages';
import type { Cursor } from '../state/address';
import type { PinMark } from '../state/pins';
import { drawLanes } from './lanes';
import type { Pen } from './pen';
import { drawTrack, inks } from './track';

export interface Marks {
  readonly path: Path; // the open blocks
  readonly cursor?: Cursor;
  readonly hover?: { readonly depth: number; readonly before: boolean; readonly track: string; readonly index: number };
  readonly partner?: { readonly depth: number; readonly before: boolean; readonly segment: string }; // what the selected block is on the other side
  readonly arrows: readonly Arrow[]; // of the block under the cursor
  readonly note: string; // below the level of the cursor
  readonly shorter?: readonly string[]; // where that has no room
  readonly pins?: (level: Path) => readonly PinMark[]; // on the blocks of a level
  readonly counted?: { readonly counter: string; readonly at: number }; // the moment under the pointer, on a counter
  readonly range?: { readonly depth: number; readonly span: Span };
  readonly stepEnd?: number; // ns: where the host begins the next step; the device may still work on this one
}

const CLEAR_ARROWS = 40; // more of them at once are drawn paler, so that the blocks stay readable
const ARROW_DISTANCE = 7; // pixels: of arrows that run side by side nearer than this one is drawn
const FRAME_FROM = 8; // pixels
const DASH = 4; // pixels
const PIN = 5; // pixels: half the width of a flag
const BOLDER = 1.12; // of the width of a text: titles are bold
const PAIR_BAR = 4; // pixels: the bar beside each of two levels that tells which timeline it is of
const STEP_END_FROM = 12; // pixels before the end of the level: nearer it says nothing

const isUpper = ({ pair }: LevelLayout): boolean => pair?.side === 'before';

function drawAxis(pen: Pen, level: LevelLayout, colours: Colours): void {
  const origin = level.pair?.origin ?? 0;
  const { ticks, step } = layoutAxis(level.scale, origin);
  const unit = axisUnit(Math.max(...level.scale.view.map((ns) => Math.abs(ns - origin))), step);
  const { gap, left, width } = level.scale;
  const right = left + width + PADDING;
  const room = (ns: number): number => (gap !== undefined && ns <= gap[0] ? toPixel(level.scale, gap[0]) : right); // the gap's time stands there
  ticks.forEach(({ x, ns }, position) => {
    pen.line(x, level.tracksTop - 3, x, level.tracksBottom + 2, colours.line);
    if (level.pair?.side === 'after') return; // the numbers stand above both
    const text = position === 0 ? `${unit.text(ns)} ${unit.unit}` : unit.text(ns);
    if (x + 3 + pen.measure(text) <= room(ns)) pen.text(x + 3, level.axisTop + AXIS_HEIGHT / 2, text, colours.dim);
  });
}

// A gap that is shortened: a pale band with the time that it stands for.
function drawGap(pen: Pen, level: LevelLayout, colours: Colours): void {
  const { gap } = level.scale;
  if (gap === undefined) return;
  const x = toPixel(level.scale, gap[0]);
  if (colours.theme !== 'contrast')
    pen.rect(x, level.tracksTop - 3, GAP_WIDTH, level.tracksBottom - level.tracksTop + 5, colours.line, 0.35);
  for (const edge of [x, x + GAP_WIDTH]) {
    for (let y = level.tracksTop - 3; y < level.tracksBottom + 2; y += 2 * DASH) pen.line(edge, y, edge, y + DASH, colours.dim);
  }
  const text = labelThatFits([time(gap[1] - gap[0])], GAP_WIDTH - 4, pen.measure);
  pen.text(x + (GAP_WIDTH - pen.measure(text)) / 2, level.axisTop + AXIS_HEIGHT / 2, text, colours.text);
}

// A chosen range: a tint over its tracks between two lines, its length on the axis.
function drawRange(pen: Pen, level: LevelLayout, span: Span, colours: Colours): void {
  const { left, width } = level.scale;
  const [from, to] = span.map((ns) => Math.min(left + width, Math.max(left, toPixel(level.scale, ns)))) as [number, number];
  if (to <= from) return;
  const [top, height] = [level.axisTop, level.tracksBottom - level.axisTop + 2];
  pen.rect(from, top, to - from, height, colours.accent, 0.18);
  for (const x of [from, to - 1]) pen.rect(x, top, 1, height, colours.accent);
  if (level.pair?.side === 'after') return;
  const text = labelThatFits([time(span[1] - span[0])], to - from - 8, pen.measure);
  if (text === '') return;
  const [room, x] = [pen.measure(text) + 6, (from + to) / 2];
  pen.rect(x - room / 2, top + 2, room, AXIS_HEIGHT - 4, colours.ground);
  pen.text(x - room / 2 + 3, top + AXIS_HEIGHT / 2, text, colours.text);
}

function drawNames(pen: Pen, level: LevelLayout, picture: Picture, colours: Colours): void {
  const title = labelThatFits([level.title], (picture.width - 2 * PADDING) / BOLDER, pen.measure);
  pen.text(PADDING, level.titleTop + 9, title, level.pair?.absent === true ? colours.dim : colours.text, 'bold');
  if (level.pair !== undefined) {
    const height = level.tracksBottom - level.titleTop;
    pen.rect(PAIR_BAR, level.titleTop, PAIR_BAR, height, isUpper(level) ? colours.dim : colours.accent);
  }
  for (const { track, top } of level.tracks) {
    if (track === undefined) continue;
    const name = labelThatFits([track.name], picture.left - PADDING - 6, pen.measure);
    pen.text(PADDING, top + TRACK_HEIGHT / 2, name, colours.dim);
  }
}

// Places for two tracks, while their level is on its way.
function drawSkeleton(pen: Pen, level: LevelLayout, colours: Colours): void {
  const { left, width } = level.scale;
  level.tracks.forEach(({ top }, row) => pen.rect(left, top, width * (row === 0 ? 1 : 0.7), TRACK_HEIGHT, colours.line, 0.5));
}

// Where a block with this segment stands in a level, on every track.
function framesOf(level: LevelLayout, segment: string): { x: number; width: number; top: number }[] {
  if (segment === '') return [];
  return level.tracks.flatMap(({ track, top }) =>
    track === undefined
      ? []
      : layoutTrack(track.blocks, level.scale)
          .filter(({ index }) => track.blocks.segment[index] === segment)
          .map(({ x, width }) => ({ x, width, top })),
  );
}

function drawMarks(pen: Pen, level: LevelLayout, marks: Marks, colours: Colours): void {
  const open = level.pair === undefined ? marks.path[level.depth] : level.open;
  // A frame around a thin block would hide its colour: it gets a line above and one below.
  const frame = (each: { x: number; width: number; top: number }, colour: string, thickness: number): void => {
    if (each.width >= FRAME_FROM) return pen.frame(each.x - 1, each.top - 1, each.width + 1, TRACK_HEIGHT + 2, colour, thickness);
    for (const y of [each.top - 2, each.top + TRACK_HEIGHT]) pen.rect(each.x - 1, y, Math.max(3, each.width + 1), 2, colour);
  };
  if (open !== undefined) for (const each of framesOf(level, open)) frame(each, colours.accent, 1.5);
  const { cursor, hover, partner } = marks;
  if (partner?.depth === level.depth && partner.before === isUpper(level))
    for (const each of framesOf(level, partner.segment)) frame(each, colours.text, 1);
  if (hover?.depth === level.depth && hover.before === isUpper(level)) {
    const row = level.tracks.find(({ track }) => track?.id === hover.track);
    const [rect] = row?.track === undefined ? [] : layoutTrack(row.track.blocks, level.scale).filter(({ index }) => index === hover.index);
    if (row !== undefined && rect !== undefined) frame({ ...rect, top: row.top }, colours.dim, 1);
  }
  if (cursor?.depth !== level.depth || (cursor.before !== undefined) !== isUpper(level)) return;
  for (const each of framesOf(level, cursor.segment)) frame(each, colours.text, 2);
  if (cursor.segment === '') {
    const row = level.tracks.find(({ track }) => track?.id === cursor.track);
    const rects = row?.track === undefined ? [] : layoutTrack(row.track.blocks, level.scale);
    const rect = rects.find(({ index }) => row!.track!.blocks.start[index] === cursor.start);
    if (rect !== undefined) frame({ ...rect, top: row!.top }, colours.text, 2);
  }
}

// A flag on the widest place of a pinned block; an empty one where the pin is on something inside of it.
function drawPins(pen: Pen, level: LevelLayout, marks: readonly PinMark[], colours: Colours): void {
  const flag = (x: number, top: number, size: number): [number, number][] => [
    [x - size, top - size / 2],
    [x + size, top - size / 2],
    [x, top + size],
  ];
  for (const { segment, whole } of marks) {
    const widest = framesOf(level, segment).sort((a, b) => b.width - a.width)[0];
    if (widest === undefined) continue;
    const x = Math.max(level.scale.left, widest.x) + Math.min(PIN, widest.width / 2);
    pen.polygon(flag(x, widest.top, PIN + 2), colours.ground, 1);
    pen.polygon(flag(x, widest.top, PIN), colours.text, 1);
    if (!whole) pen.polygon(flag(x, widest.top - 0.5, PIN - 2), colours.ground, 1);
  }
}

// From the launch on the host to the start on the device.
function drawArrows(pen: Pen, level: LevelLayout, arrows: readonly Arrow[], colours: Colours): void {
  const { left, width } = level.scale;
  const topOf = (id: string): number | undefined => level.tracks.find(({ track }) => track?.id === id)?.top;
  const seen = (x: number): boolean => x >= left && x <= left + width;
  const drawn = arrows.flatMap((arrow) => {
    const [from, to] = [topOf(arrow.launchTrack), topOf(arrow.deviceTrack)];
    const [x1, x2] = [toPixel(level.scale, arrow.launch), toPixel(level.scale, arrow.start)];
    return from === undefined || to === undefined || !seen(x1) || !seen(x2) ? [] : [{ from, to, x1, x2 }];
  });
  const opacity = drawn.length > CLEAR_ARROWS ? 0.4 : 0.9;
  const last = new Map<string, { readonly x1: number; readonly x2: number }>();
  for (const { from, to, x1, x2 } of drawn) {
    const before = last.get(`${from} ${to}`);
    if (before !== undefined && Math.max(Math.abs(x1 - before.x1), Math.abs(x2 - before.x2)) < ARROW_DISTANCE) continue;
    last.set(`${from} ${to}`, { x1, x2 });
    const down = to > from;
    const tip = down ? to : to + TRACK_HEIGHT;
    pen.curve([x1, down ? from + TRACK_HEIGHT : from], [x2, tip], colours.text, opacity);
    const back = down ? -5 : 5;
    pen.polygon(
      [
        [x2, tip],
        [x2 - 3, tip + back],
        [x2 + 3, tip + back],
      ],
      colours.text,
      opacity,
    );
  }
}

// A dashed line down the tracks of the step, where the device goes on after the host has begun the next step.
function drawStepEnd(pen: Pen, level: LevelLayout, end: number, colours: Colours): void {
  const x = toPixel(level.scale, end);
  const right = level.scale.left + level.scale.width;
  if (x < level.scale.left || x > right - STEP_END_FROM) return;
  for (let y = level.tracksTop - 4; y < level.tracksBottom + 2; y += 2 * DASH) pen.line(x, y, x, y + DASH, colours.text);
  const words = labelThatFits(['the next step begins on the host', 'next step', ''], right - x - 8, pen.measure);
  pen.text(x + 4, level.titleTop + 9, words, colours.dim);
  pen.line(x, level.titleTop + 4, x, level.tracksTop - 4, colours.dim);
}

// From the lower of two levels to the upper one of the next two; where that is not there, to the axis of both.
function drawConnector(pen: Pen, above: LevelLayout, below: readonly LevelLayout[], colours: Colours): void {
  const known = below.find(({ level }) => level !== undefined);
  const shape = known === undefined ? undefined : connectorBetween(above, { ...known, axisTop: below[0]!.axisTop });
  if (shape === undefined) return;
  const { from, to, top, bottom } = shape;
  pen.polygon(
    [
      [from[0], top],
      [from[1], top],
      [to[1], bottom],
      [to[0], bottom],
    ],
    colours.accent,
    0.12,
  );
}

function drawNote(pen: Pen, level: LevelLayout, marks: Marks, picture: Picture, colours: Colours): void {
  const more = level.level?.moreTracks ?? 0;
  const noted = marks.cursor?.depth === level.depth && !isUpper(level);
  const parts = (note: string): string[] => [
    ...(level.scale.gap === undefined ? [] : [`${time(level.scale.gap[1] - level.scale.gap[0])} without work of this block, drawn short`]),
    ...(more > 0 ? [`${more} more tracks, less busy than these`] : []),
    ...(noted && note !== '' ? [note] : []),
  ];
  const last = picture.levels.at(-1) === level;
  const wordings = [marks.note, ...(marks.shorter ?? [])].map((note) => parts(note).join(' · '));
  if (wordings[0] === '') return;
  const text = labelThatFits(wordings, level.scale.width, pen.measure);
  pen.text(level.scale.left, level.tracksBottom + (last ? 14 : 12), text, colours.dim);
}

// `seen`: the part of the picture's height that is on the screen.
export function drawPicture(
  pen: Pen,
  picture: Picture,
  marks: Marks,
  colours: Colours,
  seen: readonly [top: number, bottom: number],
): void {
  const ink = inks(colours);
  picture.levels.forEach((level, position) => {
    const { depth } = level;
    const below = picture.levels.slice(position + 1).filter((each) => each.depth === depth + 1);
    const [first] = isUpper(level) ? [] : below;
    if (first !== undefined && level.tracksBottom < seen[1] && first.tracksTop > seen[0]) drawConnector(pen, level, below, colours);
    if (level.titleTop > seen[1] || level.bottom < seen[0]) return;
    if (level.level === undefined && level.pair?.absent !== true) drawSkeleton(pen, level, colours);
    else drawAxis(pen, level, colours);
    for (const { track, top } of level.tracks) {
      if (track !== undefined && top < seen[1] && top + TRACK_HEIGHT > seen[0]) drawTrack(pen, track, top, level, colours, ink);
    }
    if (level.lanes.length > 0) drawLanes(pen, level, picture.width - PADDING, colours, ink, seen, marks.counted);
    drawGap(pen, level, colours);
    drawNames(pen, level, picture, colours);
    const stepEnd = isUpper(level) ? level.pair?.stepEnd : marks.stepEnd;
    if (depth === 0 && level.level !== undefined && stepEnd !== undefined) drawStepEnd(pen, level, stepEnd, colours);
    drawMarks(pen, level, marks, colours);
    if (marks.pins !== undefined && level.level !== undefined && !isUpper(level))
      drawPins(pen, level, marks.pins(level.level.path), colours);
    if (marks.range?.depth === depth && level.level !== undefined) drawRange(pen, level, marks.range.span, colours);
    if (marks.cursor?.depth === depth && !isUpper(level)) drawArrows(pen, level, marks.arrows, colours);
    drawNote(pen, level, marks, picture, colours);
  });
}
