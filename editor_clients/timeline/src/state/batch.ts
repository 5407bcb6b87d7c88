// What the page knows of other batch sizes, and which one somebody chose. Pure.
import type { BatchSizes } from '../server/batch_messages';
import { askedAgain, withAnswer, withChosen, withSaid, type Choice } from './choice';

export type Batch = Choice<BatchSizes>;

export const NO_BATCH: Batch = { asked: 0 };

export type BatchAction =
  | { readonly type: 'batch sizes'; readonly sizes: BatchSizes; readonly asked: number }
  | { readonly type: 'batch sizes changed' }
  | { readonly type: 'choose batch size'; readonly size?: number }
  | { readonly type: 'batch size said'; readonly text: string; readonly done?: boolean };

export function batchAfter(batch: Batch, action: BatchAction): Batch {
  switch (action.type) {
    case 'batch sizes':
      return withAnswer(batch, action.sizes, action.asked, action.sizes.points.length > 1);
    case 'batch sizes changed':
      return askedAgain(batch);
    case 'choose batch size':
      return withChosen(batch, action.size === batch.answer?.batchSize ? undefined : action.size);
    case 'batch size said':
      return withSaid(batch, action.text, action.done);
  }
}
