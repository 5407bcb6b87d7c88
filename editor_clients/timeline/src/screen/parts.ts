// The parts of the screen: each says what of the state it is drawn from and is drawn when that changes. The compiler holds it to that: what
// draws cannot read anything else.
import type { View } from '../state/address';
import type { InState, InView } from '../state/in_state';
import type { State } from '../state/state';

export type Part = (state: State, before: State | undefined) => void; // without a state before, it is drawn as well

interface Drawing<Of extends keyof State, In extends keyof View, Quiet extends keyof View> {
  readonly of: readonly Of[];
  readonly inView?: readonly In[];
  readonly quiet?: readonly Quiet[]; // of the view as well, but no reason to draw: something else changes with what they bring
  readonly draw: (state: InState<Of> & InView<In | Quiet>, before: (InState<Of> & InView<In | Quiet>) | undefined) => void;
}

export const part =
  <Of extends keyof State, In extends keyof View = never, Quiet extends keyof View = never>({
    of,
    inView = [],
    draw,
  }: Drawing<Of, In, Quiet>): Part =>
  (state, before) => {
    const changed =
      before === undefined || of.some((key) => state[key] !== before[key]) || inView.some((key) => state.view[key] !== before.view[key]);
    if (changed) draw(state, before);
  };
