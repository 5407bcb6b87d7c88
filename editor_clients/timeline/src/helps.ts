// What could make the step shorter, and by how much at most: a row for each change that the recording gives evidence for, the largest first.
// A row opens to its evidence and conditions.
import type { Commands } from './commands';
import { button, element } from './dom';
import { exact, fileName, time } from './format';
import type { Finding, Overview, Sensitivity } from './messages';

// 0.83 → "−17 %": of step times, changed to recorded, as the report writes it.
export function changeOf(ratio: number): string {
  const percent = Math.round((ratio - 1) * 100);
  return percent === 0 ? '0 %' : `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

export interface Help {
  readonly title: string;
  readonly most: string;
  readonly share: number; // of the step, that it could save
  readonly why: readonly (readonly [words: string, value: string])[]; // what the step does now
  readonly conditions: readonly string[];
  readonly place?: { readonly file: string; readonly line: number };
}

export function helpOf({ title, low, evidence, assumes, file, line }: Finding): Help {
  return {
    title,
    most: `up to ${changeOf(low)}`,
    share: Math.min(1, Math.max(0, 1 - low)),
    why: evidence.map(({ what, time: ns }) => [what, ns > 0 ? time(ns) : ''] as const),
    conditions: assumes.map((condition) => `if ${condition}`),
    ...(file === undefined || line === undefined ? {} : { place: { file, line } }),
  };
}

export const sensitivityWords = ({ kernels, host }: Sensitivity): string =>
  `if kernels took half their time ${changeOf(kernels)}, if the host did ${changeOf(host)}`;

const unfolded = new WeakSet<Finding>(); // rows that somebody opened: they stay open when the panel is drawn anew

function row(finding: Finding, commands: Commands): HTMLElement {
  const { title, most, share, why, conditions, place } = helpOf(finding);
  const summary = element(
    'summary',
    { title: `${title}: saves at most ${exact(finding.savedAtMost)}` },
    element('span', { class: 'what', text: title }),
    element('span', { class: 'number', text: most }),
    element('i', { class: 'share', style: { '--share': `${(share * 100).toFixed(2)}%` } }),
  );
  const reasons = element(
    'ul',
    { class: 'evidence' },
    ...why.map(([words, value]) => element('li', {}, element('span', { text: words }), element('span', { class: 'number', text: value }))),
    ...conditions.map((condition) => element('li', { class: 'dim', text: condition })),
  );
  const folding = element(
    'details',
    {
      on: {
        toggle: () => {
          if (folding.open) unfolded.add(finding);
          else unfolded.delete(finding);
        },
      },
    },
    summary,
    reasons,
  );
  folding.open = unfolded.has(finding);
  if (place === undefined) return element('li', {}, folding);
  const { file, line } = place;
  const name = `${fileName(file)}:${line + 1}`;
  const link = button(name, `show ${file}:${line + 1} in the editor`, () => commands.reveal(place), 'link', `${name}, ${title}`);
  return element('li', {}, folding, link);
}

export function helpsPart({ findings, sensitivity }: Overview, commands: Commands): HTMLElement[] {
  if (findings.length === 0 && sensitivity === undefined) return [];
  return [
    element('h2', { text: 'What could help, at most' }),
    ...(findings.length === 0 ? [] : [element('ul', { class: 'helps' }, ...findings.map((finding) => row(finding, commands)))]),
    ...(sensitivity === undefined ? [] : [element('p', { class: 'dim sensitivity', text: sensitivityWords(sensitivity) })]),
  ];
}
