// What the pointer or the focus rests on, in the levels and in the breakdown: the state is told after a moment, and at once when it leaves.
// The lines of it are highlighted in the editor.
import type { Details, Lines } from '../server/details_messages';
import type { Dispatch, Pointed, Target } from '../state/state';
import type { Ways } from './ways';

const REST_MS = 250;

export type Rest = (on: Target | undefined) => void;

export function createRest(dispatch: Dispatch): Rest {
  let waiting = 0;
  return (on) => {
    clearTimeout(waiting);
    dispatch({ type: 'point' });
    if (on !== undefined) waiting = window.setTimeout(() => dispatch({ type: 'point', on }), REST_MS);
  };
}

const targets = new WeakMap<Element, Target>();

export function pointsAt<Shown extends Element>(shown: Shown, target: Target): Shown {
  if (target.path !== undefined || target.place !== undefined) targets.set(shown, target);
  return shown;
}

// The elements within `around` that point at something, whenever they are made anew.
export function restOnElements(around: HTMLElement, rest: Rest): void {
  let last: Target | undefined;
  const same = (a: Target | undefined, b: Target | undefined): boolean => JSON.stringify(a) === JSON.stringify(b); // one that is drawn anew
  const over = (event: Event): void => {
    let at = event.target instanceof Element ? event.target : null;
    while (at !== null && at !== around && !targets.has(at)) at = at.parentElement;
    const target = at === null ? undefined : targets.get(at);
    if (!same(target, last)) rest((last = target));
  };
  const leave = (): void => {
    if (last !== undefined) rest((last = undefined));
  };
  for (const kind of ['pointerover', 'focusin']) around.addEventListener(kind, over);
  for (const kind of ['pointerleave', 'focusout']) around.addEventListener(kind, leave);
}

// Where it was made and where it is called; its class only where nothing else is known, and of that the first line.
function linesOfDetails({ places }: Details): readonly Lines[] {
  const used = places.filter(({ what }) => what !== 'class');
  if (used.length > 0) return used.map(({ file, line, endLine }) => ({ file, line, endLine }));
  return places.slice(0, 1).map(({ file, line }) => ({ file, line, endLine: line }));
}

export function linesOf(pointed: Pointed | undefined): readonly Lines[] {
  if (pointed?.details !== undefined) return linesOfDetails(pointed.details);
  if (pointed?.place === undefined || pointed.path !== undefined) return [];
  const { file, line } = pointed.place;
  return [{ file, line, endLine: line }];
}

// Keeps highlighted in the editor what is pointed at. A server without an editor is asked once.
export function createHighlight({ request }: Pick<Ways, 'request'>): (pointed: Pointed | undefined) => void {
  let last = '[]';
  let heard = true;
  return (pointed) => {
    const lines = linesOf(pointed);
    const now = JSON.stringify(lines);
    if (now === last || !heard) return;
    last = now;
    request('hotlens/timeline/point', { lines })
      .then(({ shown }) => void (heard = shown))
      .catch(() => void (heard = false)); // an older server knows no such request
  };
}
