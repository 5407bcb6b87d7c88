// What a reload or a re-opened panel restores: profile, step, open path, selected block, zooms. Written as the fragment of the page's address,
// `#profile=…&step=…&path=…&from=…&to=…`; a webview keeps the same text as its state.
import type { Path, Span } from '../server/messages';
import type { SomeView } from './in_state';
import { decodePath, encodePath, readPins, writePin, type Pin } from './pins';

// The block that keys act on. `segment` is "" for what has no path of its own (idle time, merged blocks); `track` is not known for a block
// that was chosen elsewhere (search, editor) until its level has arrived.
export interface Cursor {
  readonly depth: number; // of the level it stands in: the level below path[0..depth)
  readonly segment: string;
  readonly track?: string;
  readonly start?: number;
  readonly before?: Path; // it stands in the timeline that is compared with: the path of its level there
}

export interface View {
  readonly profile?: string;
  readonly step?: number; // RECORDING: all steps on one axis
  readonly path: Path; // the deepest open level; every prefix is a level above it
  readonly cursor?: Cursor;
  readonly zooms: readonly (Span | undefined)[]; // per level from the top; undefined: its whole extent
  readonly unfold: boolean;
  readonly lanes?: readonly string[]; // below the tracks what is not as it is at first: open threads, closed counters
  readonly before?: string; // the profile to compare with
  readonly beforeStep?: number; // a step of the same profile to compare with; `before` is not there then
  readonly pins?: readonly Pin[];
  readonly alone?: boolean; // what is compared with is told in the table only, not drawn
}

// A stretch of time that somebody chose in a level.
export interface Chosen {
  readonly depth: number;
  readonly span: Span;
}

// In place of a step: the level above the steps.
export const RECORDING = -1;

export const isRecording = ({ step }: SomeView<'step'>): boolean => step === RECORDING;

export const START: View = { path: [], zooms: [], unfold: false };

export function writeAddress(view: View, chosen?: Chosen): string {
  const parts = new URLSearchParams();
  if (view.profile !== undefined) parts.set('profile', view.profile);
  if (view.step !== undefined) parts.set('step', isRecording(view) ? 'all' : String(view.step));
  parts.set('path', encodePath(view.path));
  const last = view.zooms[view.path.length];
  if (last !== undefined) {
    parts.set('from', String(Math.round(last[0])));
    parts.set('to', String(Math.round(last[1])));
  }
  view.zooms.slice(0, view.path.length).forEach((zoom, depth) => {
    if (zoom !== undefined) parts.append('zoom', [depth, ...zoom].map(Math.round).join(','));
  });
  if (view.cursor !== undefined && view.cursor.segment !== '') {
    parts.set('at', encodePath([...(view.cursor.before ?? view.path.slice(0, view.cursor.depth)), view.cursor.segment]));
    if (view.cursor.before !== undefined) parts.set('atBefore', String(view.cursor.depth));
    if (view.cursor.track !== undefined) parts.set('track', view.cursor.track);
  }
  if (chosen !== undefined) parts.set('range', [chosen.depth, ...chosen.span].map(Math.round).join(','));
  if (view.unfold) parts.set('unfold', '1');
  if (view.lanes !== undefined && view.lanes.length > 0) parts.set('lanes', encodePath(view.lanes));
  if (view.before !== undefined) parts.set('before', view.before);
  if (view.beforeStep !== undefined) parts.set('beforeStep', String(view.beforeStep));
  if (view.alone === true) parts.set('alone', '1');
  for (const pin of view.pins ?? []) parts.append('pin', writePin(pin));
  return parts.toString();
}

function spanOf(from: string | null | undefined, to: string | null | undefined): Span | undefined {
  const span: Span = [Number(from ?? NaN), Number(to ?? NaN)];
  return Number.isFinite(span[0]) && Number.isFinite(span[1]) && span[0] < span[1] ? span : undefined;
}

function cursorOf(at: Path, path: Path, track: string | null, atBefore: string | null): Cursor | undefined {
  const segment = at.at(-1);
  const depth = atBefore === null ? at.length - 1 : Number.parseInt(atBefore, 10);
  const rest = track === null ? {} : { track };
  if (atBefore !== null && segment !== undefined) {
    return depth >= 0 && depth <= path.length ? { depth, segment, ...rest, before: at.slice(0, -1) } : undefined;
  }
  const inside = depth <= path.length && at.slice(0, depth).every((each, index) => each === path[index]);
  return segment === undefined || !inside ? undefined : { depth, segment, ...rest };
}

// Of a level that is open.
export function readChosen(text: string, { path }: View): Chosen | undefined {
  const [depth, from, to] = new URLSearchParams(text.replace(/^#/, '')).get('range')?.split(',') ?? [];
  const span = spanOf(from, to);
  return span === undefined || !(Number(depth) >= 0 && Number(depth) <= path.length)
    ? undefined
    : { depth: Math.floor(Number(depth)), span };
}

// Whether the address leaves open what is shown of the step.
export function isOpenEnded(text: string): boolean {
  const parts = new URLSearchParams(text.replace(/^#/, ''));
  return !['path', 'at', 'from', 'range'].some((key) => parts.has(key)) && parts.get('step') !== 'all';
}

// What cannot be read is left out: an address is text that people edit and cut.
export function readAddress(text: string): View {
  try {
    const parts = new URLSearchParams(text.replace(/^#/, ''));
    const path = parts.get('step') === 'all' ? [] : decodePath(parts.get('path') ?? '');
    const zooms: (Span | undefined)[] = [];
    for (const each of parts.getAll('zoom')) {
      const [depth, from, to] = each.split(',');
      if (Number(depth) >= 0 && Number(depth) < path.length) zooms[Number(depth)] = spanOf(from, to);
    }
    zooms[path.length] = spanOf(parts.get('from'), parts.get('to'));
    const whole = parts.get('step') === 'all';
    const step = whole ? RECORDING : Number.parseInt(parts.get('step') ?? '', 10);
    const profile = parts.get('profile');
    const before = parts.get('before');
    const lanes = decodePath(parts.get('lanes') ?? '');
    const pins = readPins(parts.getAll('pin'));
    const beforeStep = before === null ? Number.parseInt(parts.get('beforeStep') ?? '', 10) : NaN;
    const cursor = cursorOf(decodePath(parts.get('at') ?? ''), path, parts.get('track'), parts.get('atBefore'));
    return {
      path,
      zooms: Array.from(zooms),
      unfold: parts.get('unfold') === '1',
      ...(profile === null ? {} : { profile }),
      ...(step >= 0 || whole ? { step } : {}),
      ...(cursor === undefined ? {} : { cursor }),
      ...(lanes.length === 0 ? {} : { lanes }),
      ...(before === null ? {} : { before }),
      ...(beforeStep >= 0 && beforeStep !== step ? { beforeStep } : {}),
      ...(parts.get('alone') === '1' ? { alone: true } : {}),
      ...(pins.length === 0 ? {} : { pins }),
    };
  } catch {
    return START;
  }
}
