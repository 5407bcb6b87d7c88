// The line at the top: what was profiled, the step's time, the verdict; and which profile is shown, which one it is compared with.
import { button, element } from '../base/dom';
import { dateOf, fileName, isLine, ofStep, percent, placeName, spoken, time } from '../base/format';
import type { Evidence, Overview, ProfileSummary } from '../server/messages';
import type { InState, InView } from '../state/in_state';
import type { Dispatch } from '../state/state';

// Each kind of device once; some drivers leave the name empty.
function devicesOf(names: readonly string[]): string[] {
  return [...new Set(names)].map((name) => {
    const count = names.filter((each) => each === name).length;
    return `${name === '' ? 'GPU' : name}${count > 1 ? ` ×${count}` : ''}`;
  });
}

export function facts(overview: Overview): string {
  const { profile, steps } = overview;
  const devices = devicesOf(profile.devices);
  return [
    profile.model,
    devices.length > 0 ? devices.join(', ') : overview.hasDevice ? 'GPU' : 'CPU',
    profile.torch === undefined ? undefined : `torch ${profile.torch}`,
    steps.length === 1 ? '1 step' : `${steps.length} steps`,
    profile.guessed ? 'lines guessed' : undefined,
  ]
    .filter((each) => each !== undefined && each !== '')
    .join(' · ');
}

// The verdict in a word; renderStory tells its evidence.
function verdictChip({ verdict }: Overview, dispatch: Dispatch): HTMLElement[] {
  if (verdict === undefined) return [];
  const path = verdict.evidence[0]?.path ?? [];
  return [button(verdictWord(verdict.kind), 'show where', () => dispatch({ type: 'go', path }), 'chip verdict')];
}

export const verdictWord = (kind: string): string => (kind === 'unclear' ? kind : `${spoken(kind)}-bound`);

const CAUSES_TOLD = 3;

// "51 % of the step: device idle, host loads data in fetch", then "20 %: copies": one sentence names its whole once.
export function storyWords({ what, time: ns, where }: Evidence, step: number, first = true): string {
  const share = ns > 0 && step > 0 ? `${first ? ofStep(ns / step) : percent(ns / step)}: ` : '';
  const place = where === '' ? '' : ` ${isLine(where) ? 'at' : 'in'} ${placeName(where).split('/').at(-1)}`;
  return `${share}${what}${place}`;
}

// What the step's time goes to, as one sentence: the costliest causes, each a link to its place.
export function renderStory(overview: Overview | undefined, dispatch: Dispatch): HTMLElement[] {
  const evidence = overview?.verdict?.evidence.slice(0, CAUSES_TOLD) ?? [];
  const step = overview === undefined ? 0 : shownWall(overview);
  return evidence.map((each, index) => {
    const { what, time: ns, where, path } = each;
    const tip = [what, ns > 0 ? `${time(ns)} of ${time(step)}` : '', where].filter((each) => each !== '').join(' · ');
    const words = storyWords(each, step, index === 0);
    return path === undefined ? element('span', { text: words, title: tip }) : button(words, tip, () => dispatch({ type: 'go', path }));
  });
}

const optionText = (each: ProfileSummary): string =>
  [fileName(each.source), dateOf(each.created), each.stepNs === undefined ? '' : time(each.stepNs)]
    .filter((text) => text !== '')
    .join(' · ');

function choice(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  const select = element('select', { title: label, attributes: { 'aria-label': label }, on: { change: () => choose(select.value) } });
  select.append(...options.map(([value, text]) => element('option', { text, attributes: { value } })));
  select.value = chosen;
  return select;
}

// The profile's name; where there are several, the choice among them.
function profileName({ profile }: Overview, known: readonly ProfileSummary[], dispatch: Dispatch): HTMLElement {
  if (known.length < 2) return element('b', { class: 'name', text: fileName(profile.source), title: profile.source });
  const options = known.map((each) => [each.id, optionText(each)] as const);
  const select = choice('the profile that is shown', options, profile.id, (chosen) => dispatch({ type: 'show profile', profile: chosen }));
  select.classList.add('name');
  return select;
}

const shownWall = ({ steps, representative, median }: Overview): number => steps[representative]?.wall ?? median;

// Throughput is that of steps without a profiler; the picture is of profiled ones. Both stand there, as in the editor's lens.
function stepTime(overview: Overview): { text: string; title: string } {
  const {
    steps,
    representative,
    profile: { plainStepNs, rareNs = 0 },
  } = overview;
  const wall = time(shownWall(overview));
  const shown = steps.length > 1 ? `step ${steps[representative]?.index ?? ''}, which is most like the others` : 'the step';
  if (plainStepNs === undefined) return { text: `${wall}/step`, title: shown };
  const rare = rareNs > 0 ? ` + ${time(rareNs)} rare work` : '';
  const title = rare === '' ? 'the mean step' : 'the mean update, a step and its part of what comes now and then,';
  return {
    text: `${time(plainStepNs - rareNs)}/step (${wall} profiled)${rare}`,
    title: `${title} without the profiler; as it is drawn here: ${shown}`,
  };
}

type Headed = InState<'overview' | 'profiles'> & InView<'before'>;

export function renderHeader({ overview, profiles, view }: Headed, dispatch: Dispatch): HTMLElement[] {
  const known = profiles?.profiles ?? [];
  const others = known.filter(({ id }) => overview?.compareWith.includes(id) ?? false);
  const parts: HTMLElement[] = [];
  if (overview !== undefined) {
    parts.push(
      profileName(overview, known, dispatch),
      element('span', { class: 'dim facts', text: facts(overview), title: facts(overview) }),
    );
    parts.push(element('span', { class: 'chip', ...stepTime(overview) }));
    const { samplesPerSecond } = overview.profile;
    if (samplesPerSecond !== undefined) parts.push(element('span', { class: 'chip', text: `${Math.round(samplesPerSecond)} samples/s` }));
    parts.push(...verdictChip(overview, dispatch));
    if (overview.warnings.length > 0) {
      const words = overview.warnings.length === 1 ? '1 warning' : `${overview.warnings.length} warnings`;
      parts.push(
        element(
          'details',
          { class: 'chip warnings' },
          element('summary', { text: words, title: 'show what they say' }),
          element('ul', {}, ...overview.warnings.map((text) => element('li', { text }))),
        ),
      );
    }
  }
  if (others.length > 0) {
    const options = [['', 'compare with …'] as const, ...others.map((each) => [each.id, `against ${optionText(each)}`] as const)];
    parts.push(
      choice('the profile to compare with', options, view.before ?? '', (before) =>
        dispatch({ type: 'compare', ...(before === '' ? {} : { before }) }),
      ),
    );
  }
  return parts;
}
