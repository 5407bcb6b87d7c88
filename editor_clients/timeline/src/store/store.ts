// Holds the state, tells who listens, and keeps asking the server for what the state needs.
import type { Selected } from '../server/requests';
import { RequestFailed, type Transport } from '../server/transport';
import { reduce } from '../state/reduce';
import type { Action, Dispatch, State } from '../state/state';
import type { Need } from './need';
import { needs } from './needs';

export interface Store {
  readonly get: () => State;
  readonly dispatch: Dispatch;
  readonly subscribe: (listener: (state: State, before: State) => void) => void;
  readonly setWidth: (trackWidth: number) => void; // pixels that a level is asked for
}

const same = (a: Need, b: Need): boolean => a.slot === b.slot && JSON.stringify(a.params) === JSON.stringify(b.params);

export function createStore(initial: State, transport: Transport): Store {
  let state = initial;
  let width = 0;
  let scheduled = false;
  const listeners: ((state: State, before: State) => void)[] = [];
  const untold: (readonly [state: State, before: State])[] = [];
  const running = new Set<string>(); // slots

  const dispatch: Dispatch = (...actions) => actions.forEach(change);

  function change(action: Action): void {
    const before = state;
    state = reduce(state, action);
    if (state === before) return;
    untold.push([state, before]);
    if (untold.length === 1) tell();
    schedule();
  }

  // In order: what a listener changes is told after what it was told of.
  function tell(): void {
    try {
      for (const [now, before] of untold) for (const listener of listeners) listener(now, before);
    } finally {
      untold.length = 0;
    }
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      ask();
    });
  }

  // An answer that does not tell what it is about counts only while it is what the page needs.
  const isWanted = (asked: Need): boolean => asked.told === true || needs(state, width).some((each) => same(each, asked));

  async function send(asked: Need): Promise<void> {
    try {
      const result = await transport.request(asked.method, asked.params);
      if (isWanted(asked)) dispatch(asked.done(result));
    } catch (error) {
      const gone = error instanceof RequestFailed && error.gone;
      const message = error instanceof Error ? error.message : String(error);
      if (gone && asked.gone !== undefined) dispatch(asked.gone());
      else if (needs(state, width).some((each) => same(each, asked))) {
        dispatch({ type: 'failed', slot: asked.slot, message, gone, ...(asked.depth === undefined ? {} : { depth: asked.depth }) });
        if (gone) dispatch({ type: 'changed' });
      }
    } finally {
      running.delete(asked.slot);
      schedule();
    }
  }

  function ask(): void {
    if (width === 0) return;
    for (const each of needs(state, width)) {
      if (running.has(each.slot)) continue;
      running.add(each.slot);
      void send(each);
    }
  }

  // A comparison that nobody asked to change stays.
  function select({ before, ...block }: Selected): void {
    dispatch({ type: 'go', ...block });
    if (before !== undefined && before !== state.view.before) dispatch({ type: 'compare', before });
  }

  transport.onNotification = (notification) => {
    if (notification.method === 'hotlens/timeline/changed') dispatch({ type: 'changed' });
    else if (notification.method === 'hotlens/timeline/batchSizesChanged') dispatch({ type: 'batch sizes changed' });
    else if (notification.method === 'hotlens/timeline/whatIfsChanged') dispatch({ type: 'what-ifs changed' });
    else select(notification.params);
  };
  // What changed while nobody listened was not told: the list is asked for again, and what is shown stays until it is known to be old.
  transport.onConnection = (connection) => {
    dispatch({ type: 'connection', connection });
    if (connection !== 'open' || state.profiles === undefined) return;
    dispatch({ type: 'changed' });
    dispatch({ type: 'batch sizes changed' });
    dispatch({ type: 'what-ifs changed' });
  };

  return {
    get: () => state,
    dispatch,
    subscribe: (listener) => void listeners.push(listener),
    setWidth(trackWidth) {
      width = trackWidth;
      schedule();
    },
  };
}
