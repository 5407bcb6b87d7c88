// What the page knows of other batch sizes, and which one somebody chose. Pure.
import type { BatchSizes } from './batch_messages';

export interface Batch {
  readonly sizes?: BatchSizes;
  readonly asked: number; // how often somebody said that they changed
  readonly known?: number; // `asked` when `sizes` were asked for
  readonly chosen?: number; // another size than the measured one
  readonly said?: string; // what came of the last thing that was asked for
}

export const NO_BATCH: Batch = { asked: 0 };

export type BatchAction =
  | { readonly type: 'batch sizes'; readonly sizes: BatchSizes; readonly asked: number }
  | { readonly type: 'batch sizes changed' }
  | { readonly type: 'choose batch size'; readonly size?: number }
  | { readonly type: 'batch size said'; readonly text: string; readonly done?: boolean };

// A size that was chosen stays while something of it is still predicted.
function withSizes({ chosen, ...batch }: Batch, sizes: BatchSizes, asked: number): Batch {
  const kept = chosen !== undefined && sizes.points.length > 1 ? { chosen } : {};
  return { ...batch, ...kept, sizes, known: asked };
}

export function batchAfter(batch: Batch, action: BatchAction): Batch {
  switch (action.type) {
    case 'batch sizes':
      return withSizes(batch, action.sizes, action.asked);
    case 'batch sizes changed': {
      const { said: _said, ...rest } = batch;
      return { ...rest, asked: batch.asked + 1 };
    }
    case 'choose batch size': {
      const { chosen: _chosen, said: _said, ...rest } = batch;
      const measured = action.size === undefined || action.size === batch.sizes?.batchSize;
      return measured ? rest : { ...rest, chosen: action.size! };
    }
    case 'batch size said': {
      const { chosen, ...rest } = batch;
      return { ...rest, ...(action.done === true || chosen === undefined ? {} : { chosen }), said: action.text };
    }
  }
}
