// What a command acts through: the state of the moment, what changes it, and the server.
import type { Transport } from '../server/transport';
import { note, type Dispatch, type State } from '../state/state';

export interface Ways<Read = State> {
  readonly read: () => Read;
  readonly dispatch: Dispatch;
  readonly request: Transport['request'];
}

// For a request that fails: the sentence that says why.
export const sayWhy =
  ({ dispatch }: Pick<Ways, 'dispatch'>) =>
  (error: Error): void =>
    dispatch(note(error.message));
