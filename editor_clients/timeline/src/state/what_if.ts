// What the page knows of changes of the step, and which budget of memory somebody chose. Pure.
import type { WhatIfs } from '../server/what_if_messages';
import { askedAgain, withAnswer, withChosen, withSaid, type Choice } from './choice';

export type WhatIfState = Choice<WhatIfs>; // `chosen`: the budget, in bytes

export const NO_WHAT_IFS: WhatIfState = { asked: 0 };

export type WhatIfAction =
  | { readonly type: 'what-ifs'; readonly whatIfs: WhatIfs; readonly asked: number }
  | { readonly type: 'what-ifs changed' }
  | { readonly type: 'choose budget'; readonly budget?: number }
  | { readonly type: 'plan said'; readonly text: string; readonly done?: boolean };

export function whatIfsAfter(state: WhatIfState, action: WhatIfAction): WhatIfState {
  const unchanged = state.answer?.checkpoints?.points[0]?.peak;
  switch (action.type) {
    case 'what-ifs':
      return withAnswer(state, action.whatIfs, action.asked, (action.whatIfs.checkpoints?.points.length ?? 0) > 1);
    case 'what-ifs changed':
      return askedAgain(state);
    case 'choose budget': {
      const { budget } = action;
      return withChosen(state, budget === undefined || unchanged === undefined || budget >= unchanged ? undefined : budget);
    }
    case 'plan said':
      return withSaid(state, action.text, action.done);
  }
}
