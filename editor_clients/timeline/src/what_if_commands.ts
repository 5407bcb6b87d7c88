// What the curve of checkpoints asks for: a budget, a text on the clipboard. Each says what came of it.
import { copyText } from './clipboard';
import type { Store } from './store';

export interface PlanCommands {
  readonly choose: (budget: number | undefined) => void; // nothing: the unchanged step
  readonly copy: (text: string) => void;
}

export function createPlanCommands(store: Store): PlanCommands {
  const say = (text: string): void => store.dispatch({ type: 'plan said', text });
  return {
    choose: (budget) => store.dispatch({ type: 'choose budget', ...(budget === undefined ? {} : { budget }) }),
    copy: (text) => copyText(text, say),
  };
}
