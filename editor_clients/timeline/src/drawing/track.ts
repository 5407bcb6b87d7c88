// Draws the blocks of one track: as wide as they are busy, waiting as waiting, each with its name and time where there is room.
import { blend, isHatched, parseColour, stageColour, textOn, type Colours } from '../base/palette';
import { labelThatFits, layoutTrack, TEXT_PADDING, TRACK_HEIGHT, type LevelLayout, type Rect } from '../layout/layout';
import { coverOf, NARROW, spansOfRun, strokesOf, waitsOf, type Stroke } from '../layout/runs';
import type { Scale } from '../layout/scale';
import { kindOf, stageOf, sumsOf, wordings } from '../server/columns';
import type { BlockColumns, Track } from '../server/level_messages';
import type { Pen } from './pen';

const HIDDEN_OPACITY = 0.4; // of communication that other work hides
const DEVICE_OPACITY = 0.8; // the device's part of a block is paler than the host's
const GAP_FROM = 4; // pixels: wider blocks leave a pixel of ground between them and their neighbour
const WAIT_BAND = 6; // pixels of a block's own colour below its waiting
const CLEAR_COVER = 0.92; // of what is below a label: with less of the block's colour it could not be read
const PLATE = 0.7; // opacity
const PLATE_INSET = 6; // pixels above and below it
const LABEL_ACROSS = 12; // pixels between two runs that share a label
export const LABEL_FROM = 18; // pixels: narrower blocks carry no text
const WIDE_FROM = 80; // pixels: wider blocks have room for a wider margin

// A fill and the text on it, for a stage on a kind of track.
export function inks(colours: Colours): (stage: string, device: boolean) => { fill: string; text: string; opacity: number } {
  const ground = parseColour(colours.ground) ?? [30, 30, 30];
  const known = new Map<string, { fill: string; text: string; opacity: number }>();
  return (stage, device) => {
    const key = `${stage} ${device}`;
    let made = known.get(key);
    if (made === undefined) {
      const fill = stageColour(stage, colours.theme);
      const pale = stage === 'hidden_communication' ? HIDDEN_OPACITY : 1;
      const opacity = pale * (device && colours.theme !== 'contrast' ? DEVICE_OPACITY : 1);
      made = { fill, opacity, text: textOn(blend(parseColour(fill)!, ground, opacity)) };
      known.set(key, made);
    }
    return made;
  };
}

// What is drawn of one run, and how it looks.
interface Drawn {
  readonly rect: Rect;
  readonly look: string; // a stage, "waiting" or "idle"
  readonly strokes: readonly Stroke[];
}

// Communication looks the same at every level, whatever stage it is part of.
function lookOf({ kind: trackKind, blocks }: Track, index: number): string {
  const kind = kindOf(blocks, index);
  if (kind === 'wait') return 'waiting';
  if (kind === 'idle') return 'idle';
  return trackKind === 'communication' ? 'communication' : stageOf(blocks, index);
}

const drawnOf = (track: Track, scale: Scale): Drawn[] =>
  layoutTrack(track.blocks, scale).map((rect) => ({
    rect,
    look: lookOf(track, rect.index),
    strokes: strokesOf(spansOfRun(track, rect.index, scale)),
  }));

// By what they look like: a canvas is quick as long as its colour stays. Within it neighbours share columns.
function byLook(drawn: readonly Drawn[]): Map<string, Stroke[]> {
  const groups = new Map<string, Stroke[]>();
  for (const { look, strokes } of drawn) {
    const group = groups.get(look);
    if (group === undefined) groups.set(look, [...strokes]);
    else group.push(...strokes);
  }
  return groups;
}

const shownWidth = (width: number): number => (width >= GAP_FROM ? width - 1 : width);

// Idle is a thin band of lines; waiting and an earlier step's work fill the row, over a tint.
function drawHatched(pen: Pen, look: string, strokes: readonly Stroke[], top: number, fill: string): void {
  const inset = look === 'idle' ? 7 : 0;
  for (const { x, width, cover } of strokes) {
    if (look !== 'idle') pen.rect(x, top, shownWidth(width), TRACK_HEIGHT, fill, 0.35 * cover);
    if (width >= NARROW) pen.hatch(x, top + inset, shownWidth(width), TRACK_HEIGHT - 2 * inset, fill);
  }
}

// Waiting hides the colour of the block that it is in, but for a band below.
function drawWaits(pen: Pen, strokes: readonly Stroke[], top: number, colours: Colours, fill: string): void {
  const height = TRACK_HEIGHT - WAIT_BAND;
  for (const { x, width, cover } of strokes) {
    pen.rect(x, top, shownWidth(width), height, colours.ground, cover);
    pen.rect(x, top, shownWidth(width), height, fill, 0.35 * cover);
    if (width >= NARROW) pen.hatch(x, top, shownWidth(width), height, fill);
  }
}

export function drawTrack(pen: Pen, track: Track, top: number, level: LevelLayout, colours: Colours, ink: ReturnType<typeof inks>): void {
  const device = track.kind !== 'host';
  const drawn = drawnOf(track, level.scale);
  for (const [look, strokes] of byLook(drawn)) {
    const { fill, opacity } = ink(look, device);
    if (isHatched(look)) {
      drawHatched(pen, look, strokes, top, fill);
      continue;
    }
    for (const { x, width, cover } of strokes) pen.rect(x, top, shownWidth(width), TRACK_HEIGHT, fill, opacity * cover);
    if (colours.theme === 'contrast') {
      for (const { x, width } of strokes) if (width >= GAP_FROM) pen.frame(x, top, width - 1, TRACK_HEIGHT, colours.text, 1);
    }
  }
  const waits = strokesOf(waitsOf(track, level.scale));
  if (waits.length > 0) drawWaits(pen, waits, top, colours, ink('waiting', device).fill);
  const taken: Box[] = [];
  for (const group of labelGroups(track.blocks, drawn)) {
    const box = drawLabel(pen, track, group, { waits, taken }, top, colours, ink);
    if (box !== undefined) taken.push(box);
  }
}

type Box = readonly [left: number, right: number];

const widthOf = (group: readonly Drawn[]): number => group.reduce((sum, { rect }) => sum + rect.width, 0);

// Runs of one block that are near each other share a label: each alone would be too narrow for it. The widest come first.
function labelGroups(blocks: BlockColumns, drawn: readonly Drawn[]): Drawn[][] {
  const groups: Drawn[][] = [];
  const open = new Map<string, Drawn[]>(); // by segment: the group that may go on
  for (const each of drawn) {
    const kind = kindOf(blocks, each.rect.index);
    if (each.look === 'idle' && kind !== 'gap') continue;
    const segment = blocks.segment[each.rect.index]! || (kind === 'exposed' || kind === 'hidden' ? kind : '');
    const group = open.get(segment);
    const last = group?.at(-1);
    const near = last !== undefined && each.rect.x - last.rect.x - last.rect.width <= LABEL_ACROSS;
    if (near && last.look === each.look) {
      group!.push(each);
      continue;
    }
    groups.push([each]);
    if (segment !== '') open.set(segment, groups.at(-1)!);
  }
  return groups.sort((a, b) => widthOf(b) - widthOf(a));
}

// A label stands on the block's colour where that covers nearly all below it; else on a plate of its own. Its box; none where it has no room.
function drawLabel(
  pen: Pen,
  track: Track,
  group: readonly Drawn[],
  { waits, taken }: { readonly waits: readonly Stroke[]; readonly taken: readonly Box[] },
  top: number,
  colours: Colours,
  ink: ReturnType<typeof inks>,
): Box | undefined {
  const [{ rect, look }, last] = [group[0]!, group.at(-1)!.rect];
  const room = last.x + last.width - rect.x;
  if (room < LABEL_FROM) return undefined;
  const padding = room < WIDE_FROM ? TEXT_PADDING / 2 : TEXT_PADDING;
  const runs = group.map((each) => each.rect.index);
  const text = labelThatFits(wordings(track.blocks, rect.index, sumsOf(track.blocks, runs)), room - 2 * padding, pen.measure);
  const [x, width] = [rect.x + padding, pen.measure(text)];
  if (text === '' || taken.some(([left, right]) => x < right && x + width > left)) return undefined;
  const below = group.flatMap(({ strokes }) => strokes);
  const clear = coverOf(below, x, x + width) - coverOf(waits, x, x + width) >= CLEAR_COVER;
  const hatched = isHatched(look);
  if (!clear && !hatched) pen.rect(x - 2, top + PLATE_INSET, width + 4, TRACK_HEIGHT - 2 * PLATE_INSET, colours.ground, PLATE);
  pen.text(x, top + TRACK_HEIGHT / 2, text, clear && !hatched ? ink(look, track.kind !== 'host').text : colours.text);
  return [x, x + width];
}
