// Blocks that somebody pinned, each with a short note. They are kept in the page's address, so that who copies it shares them: what comes from
// there is anybody's text, and is read within limits. Pure.
import type { Path } from '../server/messages';

export interface Pin {
  readonly step: number;
  readonly path: Path;
  readonly note: string; // may be empty
}

// What is known of the pinned block; null where the profile has no such block.
export type PinnedBlock = { readonly label: string; readonly ns: number } | null;

export const MOST_PINS = 20; // an address is copied into messages, which cut long ones
export const MOST_NOTE = 100; // characters
const MOST_DEPTH = 40; // segments
const MOST_SEGMENT = 200; // characters; the server's have at most 80 bytes

export const encodePath = (path: Path): string => path.map(encodeURIComponent).join('/');
export const decodePath = (text: string): Path => (text === '' ? [] : text.split('/').map(decodeURIComponent));

// One line without control characters.
export const cleanNote = (text: string): string => [...text.replace(/\s+/g, ' ').replace(/\p{Cc}/gu, '')].slice(0, MOST_NOTE).join('');

// "STEP:PATH:NOTE"; what stands between the colons has none.
export const writePin = ({ step, path, note }: Pin): string => [step, encodePath(path), encodeURIComponent(note.trim())].join(':');

function readPin(text: string): Pin[] {
  try {
    const [step = '', path = '', note = ''] = text.split(':');
    const pin = { step: Number(step), path: decodePath(path), note: cleanNote(decodeURIComponent(note)).trim() };
    const fits = /^\d{1,9}$/.test(step) && pin.path.length > 0 && pin.path.length <= MOST_DEPTH;
    return fits && pin.path.every((segment) => segment !== '' && segment.length <= MOST_SEGMENT) ? [pin] : [];
  } catch {
    return []; // cut in the middle of a letter
  }
}

export const pinKey = ({ step, path }: Pick<Pin, 'step' | 'path'>): string => JSON.stringify([step, ...path]);

// What cannot be read is left out; of two for one block the first counts.
export function readPins(texts: readonly string[]): readonly Pin[] {
  const pins = new Map<string, Pin>();
  for (const pin of texts.flatMap(readPin)) if (pins.size < MOST_PINS && !pins.has(pinKey(pin))) pins.set(pinKey(pin), pin);
  return [...pins.values()];
}

export const pinOf = (pins: readonly Pin[] = [], at: Pick<Pin, 'step' | 'path'>): Pin | undefined =>
  pins.find((each) => pinKey(each) === pinKey(at));

// One more, or another note on one that is there; the same ones where there is no room.
export function withPin(pins: readonly Pin[], pin: Pin): readonly Pin[] {
  const key = pinKey(pin);
  if (pins.some((each) => pinKey(each) === key)) return pins.map((each) => (pinKey(each) === key ? pin : each));
  return pins.length < MOST_PINS ? [...pins, pin] : pins;
}

export const withoutPin = (pins: readonly Pin[], at: Pick<Pin, 'step' | 'path'>): readonly Pin[] =>
  pins.filter((each) => pinKey(each) !== pinKey(at));

// A block of a level that is pinned itself, or holds something that is.
export interface PinMark {
  readonly segment: string;
  readonly whole: boolean;
  readonly notes: readonly string[];
}

export function pinMarks(pins: readonly Pin[] = [], step: number | undefined, level: Path): readonly PinMark[] {
  const marks = new Map<string, { whole: boolean; notes: string[] }>();
  for (const pin of pins) {
    const segment = pin.path[level.length];
    if (pin.step !== step || segment === undefined || !level.every((each, depth) => each === pin.path[depth])) continue;
    const mark = marks.get(segment) ?? { whole: false, notes: [] };
    mark.whole ||= pin.path.length === level.length + 1;
    mark.notes.push(pin.note);
    marks.set(segment, mark);
  }
  return [...marks].map(([segment, mark]) => ({ segment, ...mark }));
}

// What the tip of a block says of its pins.
export function pinWords({ whole, notes }: PinMark): string {
  const known = notes.filter((note) => note !== '');
  const count = notes.length === 1 ? 'a pin' : `${notes.length} pins`;
  const what = whole && notes.length === 1 ? 'pinned' : whole ? count : `${count} inside`;
  return known.length === 0 ? what : `${what}: ${known.join(' · ')}`;
}
