// The pointer and the keys of elements, as events of a slider (slider.ts).
import type { SlideEffect, SlideInput } from './slider';

export interface Sliding<G> {
  readonly name: G;
  readonly tracks: readonly HTMLElement[]; // what is pressed; the first is as wide as the values lie
  readonly handle: HTMLElement;
  readonly handled: (event: SlideInput<G>) => boolean; // whether the event was taken
}

export function listen<G>({ name, tracks, handle, handled }: Sliding<G>): void {
  const shareAt = ({ clientX }: PointerEvent): number => {
    const { left, width } = tracks[0]!.getBoundingClientRect();
    return (clientX - left) / Math.max(1, width);
  };
  for (const track of tracks) {
    track.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      track.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      handled({ type: 'down', on: name, at: shareAt(event), onHandle: event.target === handle });
    });
    track.addEventListener('pointermove', (event) => void handled({ type: 'move', at: shareAt(event) }));
    track.addEventListener('pointerup', () => void handled({ type: 'up' }));
    track.addEventListener('pointercancel', () => void handled({ type: 'cancel' }));
  }
  handle.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!handled({ type: 'key', key: event.key })) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

export interface Carrying {
  readonly root: HTMLElement;
  readonly show: () => void;
  readonly choose: (value: number) => void;
}

// Whether the event was taken.
export function carriedOut(effects: readonly SlideEffect[], { root, show, choose }: Carrying): boolean {
  for (const effect of effects) {
    if (effect.type === 'show') show();
    if (effect.type === 'choose') choose(effect.value);
    if (effect.type === 'grab' || effect.type === 'release') root.classList.toggle('dragging', effect.type === 'grab');
  }
  return effects.some(({ type }) => type === 'consume');
}
