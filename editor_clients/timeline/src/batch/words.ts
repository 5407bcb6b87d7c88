// What the page says of a batch size. A number that was not measured has "≈" before it. Pure.
import { bytes, fileName } from '../base/format';
import type { BatchPlace, BatchSizes } from '../server/batch_messages';
import { costAt, fits, isOpen, type BatchModel, type Cost, type Spread } from './model';

const rounded = (ratio: number): number => Math.round((ratio - 1) * 100);
const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value)}`;
const about = (text: string, { measured }: Cost): string => (measured ? text : `≈ ${text}`);

export function rateText(rate: number): string {
  if (rate >= 100) return `${Math.round(rate)} samples/s`;
  return `${rate.toPrecision(3)} samples/s`;
}

export const rateWords = (cost: Cost): string => (cost.rate === undefined ? 'not known' : about(rateText(cost.rate.value), cost));

export const intervalWords = (rate: Spread): string =>
  isOpen(rate) ? `${rateText(rate.low)} or more` : `${rateText(rate.low).replace(' samples/s', '')} to ${rateText(rate.high)}`;

export function memoryWords(cost: Cost, { memory }: BatchModel): string {
  const peak = about(bytes(cost.peak), cost);
  return memory === undefined ? peak : `${peak} of ${bytes(memory.bytes)}`;
}

// "≈ +9 % samples/s (+5…+12)"; no sign of change where the interval holds none.
export function gainWords(cost: Cost, base: Cost): string {
  if (cost.rate === undefined || base.rate === undefined) return 'samples/s not known';
  const [low, ratio, high] = [cost.rate.low, cost.rate.value, cost.rate.high].map((rate) => rate / base.rate!.value);
  if (low! <= 1 && high! >= 1) return 'about as many samples/s';
  const interval = isOpen(cost.rate) ? `${signed(rounded(low!))} or more` : `${signed(rounded(low!))}…${signed(rounded(high!))}`;
  return `≈ ${signed(rounded(ratio!))} % samples/s (${interval})`;
}

const whose = ({ memory }: BatchModel): string => (memory === undefined || memory.of === '' ? '' : ` of ${memory.of}`);

// "up to 120 fit into 16.0 GB of the device"
const fitWords = (model: BatchModel): string => {
  const { largest, bytes: room } = model.memory!;
  return `${largest > 0 ? `up to ${largest} fit` : 'not even 1 fits'} into ${bytes(room)}${whose(model)}`;
};

// "32 → 48: ≈ +9 % samples/s (+5…+12), ≈ 7.10 GB of 16.0 GB"
export function sizeWords(model: BatchModel, size: number): string {
  const [cost, base] = [costAt(model, size), costAt(model, model.base.batchSize)];
  if (cost.measured) return `${size}, measured: ${rateWords(cost)}, ${memoryWords(cost, model)}`;
  const end = fits(model, cost.batchSize) ? '' : `, does not fit: ${fitWords(model)}`;
  return `${base.batchSize} → ${cost.batchSize}: ${gainWords(cost, base)}, ${memoryWords(cost, model)}${end}`;
}

// "measured: 32 · predicted: 16, 64 and 128 · beyond 128 nothing is known · up to 1432 fit into 16.0 GB of the device"
export function knownWords(model: BatchModel, { refused }: BatchSizes): string {
  const predicted = model.points.filter(({ measured }) => !measured).map(({ batchSize }) => batchSize);
  const listed = predicted.length < 2 ? predicted.join('') : `${predicted.slice(0, -1).join(', ')} and ${predicted.at(-1)}`;
  const ends = `beyond ${model.most} nothing is known`;
  const timed = model.points.filter(({ step }) => step !== undefined).at(-1)?.batchSize ?? model.most;
  const untimed = timed < model.most ? [`no speed is known beyond ${timed}`] : [];
  const fit = model.memory === undefined ? [] : [fitWords(model)];
  const failed = refused.map(({ batchSize, reason }) => `${batchSize} is not predicted: ${reason}`);
  return [`measured: ${model.base.batchSize}`, `predicted: ${listed}`, ends, ...untimed, ...fit, ...failed].join(' · ');
}

// "train.py:5"
export const placeWords = ({ file, line }: BatchPlace): string => `${fileName(file)}:${line + 1}`;

export const lineWith = ({ before, after }: BatchPlace, size: number): string => `${before}${size}${after}`.trim();
