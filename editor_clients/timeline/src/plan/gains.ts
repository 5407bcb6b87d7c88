// What each change gives, as far as it is known: at most, by a rule; predicted, by a replay; verified, by runs of the script. What gives most
// comes first. Pure.
import { time } from '../base/format';
import type { Finding } from '../server/messages';
import type { Outcome, Ratio } from '../server/what_if_messages';

export type Certainty = 'most' | 'predicted' | 'verified';

export interface Gain {
  readonly certainty: Certainty;
  readonly words: string;
  readonly share: number; // of the step, that it saves
  readonly interval?: readonly [from: number, to: number]; // the same
}

export interface Help {
  readonly key: string; // the same row when it is drawn anew
  readonly title: string;
  readonly gains: readonly Gain[];
  readonly ratio: number; // of step times, changed to recorded, as it is known best
  readonly why: readonly (readonly [words: string, value: string])[]; // what the step does now
  readonly conditions: readonly string[];
  readonly place?: { readonly file: string; readonly line: number };
}

export interface Helps {
  readonly rows: readonly Help[];
  readonly others: readonly Help[]; // replayed, without a gain that is certain
}

// 0.83 → "−17 %": of step times, changed to recorded, as the report writes it.
export function changeOf(ratio: number): string {
  const percent = Math.round((ratio - 1) * 100);
  return percent === 0 ? '0 %' : `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

const saved = (ratio: number): number => Math.min(1, Math.max(0, 1 - ratio));

const told = (certainty: Certainty, { ratio, low, high, words }: Ratio): Gain => ({
  certainty,
  words: `${certainty} ${words}`,
  share: saved(ratio),
  interval: [saved(high), saved(low)],
});

const bound = ({ low, onlyMeasured }: Finding): Gain => ({
  certainty: 'most',
  words: onlyMeasured === true ? 'only runs tell how much' : `at most ${changeOf(low)}`,
  share: saved(low),
});

function gainsOf(finding: Finding | undefined, outcome: Outcome | undefined): Gain[] {
  const { predicted, verified } = outcome ?? {};
  return [
    ...(finding === undefined || predicted !== undefined ? [] : [bound(finding)]),
    ...(predicted === undefined ? [] : [told('predicted', predicted)]),
    ...(verified === undefined ? [] : [told('verified', verified)]),
  ];
}

function helpOf(finding: Finding | undefined, outcome: Outcome | undefined): Help {
  const { kind, title, file, line } = (finding ?? outcome)!;
  const assumed = new Set([...(finding?.assumes ?? []), ...(outcome?.assumes ?? [])]);
  const also = [outcome?.interval, outcome?.verified?.losses].filter((words) => words !== undefined);
  return {
    key: `${kind} ${file ?? ''}:${line ?? ''}`,
    title,
    gains: gainsOf(finding, outcome),
    ratio: outcome?.verified?.ratio ?? outcome?.predicted?.ratio ?? finding?.low ?? 1,
    why: (finding?.evidence ?? []).map(({ what, time: ns }) => [what, ns > 0 ? time(ns) : ''] as const),
    conditions: [...[...assumed].map((condition) => `if ${condition}`), ...also],
    ...(file === undefined || line === undefined ? {} : { place: { file, line } }),
  };
}

// As far as it was verified, else as it was predicted.
function isCertain({ predicted, verified }: Outcome): boolean {
  const best = verified ?? predicted;
  return best !== undefined && best.high < 1;
}

export function helpsOf(findings: readonly Finding[], outcomes: readonly Outcome[]): Helps {
  const first = new Map(findings.map((finding) => [finding.kind, finding] as const).reverse());
  const of = (finding: Finding): Outcome | undefined =>
    first.get(finding.kind) === finding ? outcomes.find(({ kind }) => kind === finding.kind) : undefined;
  // Checkpoints lower memory for time: the curve tells them.
  const replayed = outcomes.filter(({ kind }) => kind !== 'checkpoint' && !first.has(kind));
  const rows = [
    ...findings.map((finding) => helpOf(finding, of(finding))),
    ...replayed.filter(isCertain).map((each) => helpOf(undefined, each)),
  ];
  const others = replayed.filter((each) => !isCertain(each)).map((each) => helpOf(undefined, each));
  const best = (a: Help, b: Help): number => a.ratio - b.ratio;
  return { rows: rows.sort(best), others: others.sort(best) };
}
