// What the pointer and the keys do on handles that slide, as a state machine: (state, event) → (state, effects). The widget carries the effects
// out. Several handles (by their names `G`) may show one value, each on its own track. Pure.

// How values lie on a track, as shares of its length.
export interface Track {
  readonly shareOf: (value: number) => number;
  readonly valueAt: (share: number, near: number) => number; // `near`: the value that is shown
}

export interface Rails<G> {
  readonly track: (name: G) => Track;
  readonly byKey: (key: string, value: number) => number | undefined; // the value that a key leads to; nothing: it is not its own
}

export interface SlideState<G> {
  readonly value: number; // the one that is shown
  readonly drag?: {
    readonly on: G;
    readonly from: number; // the value before it
    readonly off: number; // of the pointer from the handle's middle, as a share of the track
  };
}

// `at`: where the pointer is, as a share of the track.
export type SlideInput<G> =
  | { readonly type: 'down'; readonly on: G; readonly at: number; readonly onHandle: boolean }
  | { readonly type: 'move'; readonly at: number }
  | { readonly type: 'up' }
  | { readonly type: 'cancel' } // Escape, or the pointer was taken away
  | { readonly type: 'key'; readonly key: string };

export type SlideEffect =
  | { readonly type: 'show' } // another value
  | { readonly type: 'grab' }
  | { readonly type: 'release' }
  | { readonly type: 'choose'; readonly value: number }
  | { readonly type: 'consume' }; // nobody else does anything about the key

export type SlideStep<G> = readonly [state: SlideState<G>, effects: readonly SlideEffect[]];

const shown = <G>(state: SlideState<G>, value: number): SlideStep<G> => [
  { ...state, value },
  value === state.value ? [] : [{ type: 'show' }],
];

function followed<G>(state: SlideState<G>, at: number, rails: Rails<G>): SlideStep<G> {
  if (state.drag === undefined) return [state, []];
  const { on, off } = state.drag;
  return shown(state, rails.track(on).valueAt(at - off, state.value));
}

function pressed<G>({ value }: SlideState<G>, { on, at, onHandle }: SlideInput<G> & { type: 'down' }, rails: Rails<G>): SlideStep<G> {
  const off = onHandle ? at - rails.track(on).shareOf(value) : 0;
  const grabbed: SlideState<G> = { value, drag: { on, from: value, off } };
  const [next, effects] = onHandle ? ([grabbed, []] as const) : followed(grabbed, at, rails);
  return [next, [{ type: 'grab' }, ...effects]];
}

function typed<G>(state: SlideState<G>, key: string, rails: Rails<G>): SlideStep<G> {
  const value = rails.byKey(key, state.value);
  if (value === undefined) return [state, []];
  const [next, effects] = shown<G>({ value: state.value }, value);
  return [next, [{ type: 'consume' }, ...effects, ...(value === state.value ? [] : [{ type: 'choose' as const, value }])]];
}

function cancelled<G>({ drag, value }: SlideState<G>): SlideStep<G> {
  if (drag === undefined) return [{ value }, []];
  const [state, effects] = shown({ value } as SlideState<G>, drag.from);
  return [state, [...effects, { type: 'release' }]];
}

function typedWhileDragging<G>(state: SlideState<G>, key: string): SlideStep<G> {
  const [next, effects] = key === 'Escape' ? cancelled(state) : ([state, []] as const);
  return [next, key === 'Tab' ? effects : [{ type: 'consume' }, ...effects]];
}

export function slide<G>(state: SlideState<G>, event: SlideInput<G>, rails: Rails<G>): SlideStep<G> {
  switch (event.type) {
    case 'down':
      return pressed(state, event, rails);
    case 'move':
      return followed(state, event.at, rails);
    case 'up':
      return state.drag === undefined
        ? [state, []]
        : [{ value: state.value }, [{ type: 'release' }, { type: 'choose', value: state.value }]];
    case 'cancel':
      return cancelled(state);
    case 'key':
      return state.drag === undefined ? typed(state, event.key, rails) : typedWhileDragging(state, event.key);
  }
}
