// What the bars of the batch size ask for: a prediction, an edit, a text on the clipboard. Each says what came of it.
import { copyText } from '../base/clipboard';
import type { Ways } from '../commands/ways';
import type { BatchPlace } from '../server/batch_messages';
import { placeWords } from './words';

export interface BatchCommands {
  readonly choose: (size: number | undefined) => void; // nothing: the measured one
  readonly predict: (profile: string) => void;
  readonly set: (place: BatchPlace, was: number, size: number) => void;
  readonly copy: (text: string) => void;
}

export function createBatchCommands({ dispatch, request }: Pick<Ways, 'dispatch' | 'request'>): BatchCommands {
  const say = (text: string, done = false): void => dispatch({ type: 'batch size said', text, ...(done ? { done } : {}) });
  const failed = (error: unknown): void => say(error instanceof Error ? error.message : String(error));

  function predict(profile: string): void {
    say('starting …');
    request('hotlens/timeline/predict', { profile })
      .then(({ started, message }) => started || say(message ?? 'Nothing was started.'))
      .catch(failed);
  }

  function set(place: BatchPlace, was: number, size: number): void {
    request('hotlens/timeline/setBatchSize', { file: place.file, was, batchSize: size })
      .then(({ applied, message }) =>
        applied
          ? say(`${placeWords(place)} sets ${size} now; undo in the editor takes it back. Profile again to measure it.`, true)
          : say(message ?? 'Nothing was changed.'),
      )
      .catch(failed);
  }

  return {
    choose: (size) => dispatch({ type: 'choose batch size', ...(size === undefined ? {} : { size }) }),
    predict,
    set,
    copy: (text) => copyText(text, say),
  };
}
