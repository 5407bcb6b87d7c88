// Parts of the state: a signature says what is read, a test hands over plain values.
import type { View } from './address';
import type { State } from './state';

// No value has `reads`: by it the compiler finds who reads a field that its caller was not given, also a field that may be absent.
type Some<Whole, Keys extends keyof Whole> = Pick<Whole, Keys> & { readonly reads?: Readonly<Record<Keys, true>> };

export type InState<Keys extends keyof State> = Some<State, Keys>;
export type SomeView<Keys extends keyof View> = Some<View, Keys>;
export interface InView<Keys extends keyof View> {
  readonly view: SomeView<Keys>;
}
