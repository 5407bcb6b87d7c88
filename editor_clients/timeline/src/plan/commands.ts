// What the curve of checkpoints asks for: a budget, an edit, a text on the clipboard. Each says what came of it.
import { copyText } from '../base/clipboard';
import type { Ways } from '../commands/ways';

export interface PlanCommands {
  readonly choose: (budget: number | undefined) => void; // nothing: the unchanged step
  readonly plan: (profile: string) => void;
  readonly set: (profile: string, blocks: readonly string[]) => void;
  readonly copy: (text: string) => void;
}

export function createPlanCommands({ dispatch, request }: Pick<Ways, 'dispatch' | 'request'>): PlanCommands {
  const say = (text: string, done = false): void => dispatch({ type: 'plan said', text, ...(done ? { done } : {}) });
  const failed = (error: unknown): void => say(error instanceof Error ? error.message : String(error));

  function plan(profile: string): void {
    say('starting …');
    request('hotlens/timeline/planCheckpoints', { profile })
      .then(({ started, message }) => started || say(message ?? 'Nothing was started.'))
      .catch(failed);
  }

  function set(profile: string, blocks: readonly string[]): void {
    request('hotlens/timeline/setCheckpoints', { profile, blocks })
      .then(({ applied, message }) =>
        applied
          ? say('The script checkpoints them now; undo in the editor takes it back. Profile again to measure it.', true)
          : say(message ?? 'Nothing was changed.'),
      )
      .catch(failed);
  }

  return {
    choose: (budget) => dispatch({ type: 'choose budget', ...(budget === undefined ? {} : { budget }) }),
    plan,
    set,
    copy: (text) => copyText(text, say),
  };
}
