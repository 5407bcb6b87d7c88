// The line below a level about the launches of the selected block.
import { time } from '../base/format';
import type { InState } from '../state/in_state';

// What the launches of the selected block say: how long the device let them wait.
export function arrowNote(state: InState<'arrows'>): string {
  const arrows = state.arrows?.arrows ?? [];
  if (arrows.length === 0) return '';
  const delays = arrows.map(({ delay }) => delay).sort((a, b) => a - b);
  const names = [...new Set(arrows.map(({ name }) => name))];
  const shown = names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
  const delay = [...new Set([delays[0]!, delays.at(-1)!].map(time))].join(' to ');
  const all = state.arrows!.total > arrows.length ? `${arrows.length} of ${state.arrows!.total} launches · ` : '';
  return `${all}launch to start ${delay} · ${shown}`;
}
