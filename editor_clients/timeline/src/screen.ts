// The parts of the screen, and which of them a change of the state concerns.
import { isRecording } from './address';
import { createBatchBars } from './batch_bars';
import { createBatchCommands } from './batch_commands';
import { isBeside, isComparing } from './beside';
import { renderBreakdown } from './breakdown';
import { shortName } from './columns';
import { createCommands, type Commands } from './commands';
import { renderCompare } from './compare';
import { differenceOf, differenceWords } from './difference';
import { renderDetails } from './details';
import { button, element, refill } from './dom';
import { savePicture, type Save } from './export_picture';
import { time } from './format';
import { renderHeader, renderStory } from './header';
import { commandFor, COMMANDS, keyNames, type Command } from './keys';
import { createLevels } from './levels';
import { createPinList } from './pin_list';
import { createRest, highlightLines, restOnElements } from './point';
import { renderRange, rangeWords } from './range';
import { createSearch } from './search';
import { blockWords, seenUnderCursor } from './shown';
import type { State } from './state';
import { markSteps, renderLegend, renderSteps, stagesShown } from './steps';
import type { Store } from './store';
import type { Transport } from './transport';

// Commands that also have a button above the levels: nobody has to know a key or a double click.
const BUTTONS: readonly (readonly [command: Command, text: string])[] = [
  ['open', 'open'],
  ['close', 'up'],
  ['zoom in', '+'],
  ['zoom out', '−'],
  ['fit', 'fit'],
  ['sum', 'sum'],
  ['compare steps', 'compare'],
  ['unfold', 'unfold'],
  ['code', 'code'],
  ['export picture', 'SVG'],
  ['export pixels', 'PNG'],
  ['export window', 'Perfetto'],
  ['help', '?'],
];

const wordsOf = (command: Command): string => {
  const { keys, words } = COMMANDS.find((each) => each.command === command)!;
  return `${words} (${keyNames(keys)})`;
};

function helpTable(): HTMLElement {
  const rows = COMMANDS.map(({ keys, words }) =>
    element('tr', {}, element('td', {}, element('kbd', { text: keyNames(keys) })), element('td', { text: words })),
  );
  return element('table', {}, ...rows);
}

const CONNECTION_WORDS: Readonly<Record<State['connection'], string>> = {
  connecting: 'Connecting to hotlens …',
  open: '',
  lost: 'The connection to hotlens is lost. Trying again; if it was stopped, start it again (hotlens serve).',
  refused: "This page's token is not valid any more: hotlens was started again. Open the address that it prints now.",
};

// The one sentence above the levels, most urgent first.
export function sentence(state: State): { readonly text: string; readonly error: boolean } {
  const unconnected = state.connection === 'connecting' && state.overview !== undefined ? '' : CONNECTION_WORDS[state.connection];
  if (unconnected !== '') return { text: unconnected, error: state.connection !== 'connecting' };
  const failed =
    ['profiles', 'overview'].find((slot) => state.failures[slot] !== undefined) ??
    Object.keys(state.failures).find((slot) => slot.startsWith('level'));
  if (failed !== undefined) return { text: state.failures[failed]!, error: true };
  if (state.profiles?.profiles.length === 0)
    return { text: 'There is no profile yet. Run hotlens run train.py, or choose Profile in the editor.', error: false };
  if (state.overview === undefined) return { text: 'Reading the profile …', error: false };
  return { text: state.note ?? '', error: false };
}

function spokenSelection(state: State, width: number): string {
  if (state.range !== undefined) return rangeWords(state.range);
  const seen = seenUnderCursor(state, width);
  if (seen === undefined) return '';
  const side = !isBeside(state.view) ? '' : seen.before === undefined ? ', after' : ', before';
  const block = `${blockWords(seen)}, ${seen.kind}, ${time(seen.busy)}, on ${seen.trackName}${side}${seen.open ? ', can be opened' : ''}`;
  return [block, differenceWords(differenceOf(state))].filter((text) => text !== '').join('. ');
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLInputElement || target instanceof HTMLSelectElement;

export function createScreen(store: Store, transport: Transport, save: Save): void {
  const rest = createRest(store);
  const levels = createLevels(store, rest);
  const header = element('header');
  const steps = element('div', { class: 'steps' });
  const legend = element('div', { class: 'legend', attributes: { 'aria-label': 'colours' } });
  const story = element('p', { class: 'story', attributes: { 'aria-label': 'what limits the step' } });
  const crumbs = element('nav', { class: 'crumbs', attributes: { 'aria-label': 'open levels' } });
  const said = element('span', { class: 'said', attributes: { role: 'status', 'aria-live': 'polite' } });
  const spokenLine = element('div', { class: 'spoken', attributes: { 'aria-live': 'polite' } });
  const details = element('div');
  const pins = createPinList(store, () => levels.pane.focus());
  const breakdown = element('section', { class: 'breakdown', attributes: { 'aria-label': 'breakdown' } });
  const batch = createBatchBars(createBatchCommands(store, transport));
  const help = element('div', { class: 'help', attributes: { role: 'dialog', 'aria-label': 'keys' } });
  let commands: Commands;
  const search = createSearch(
    store,
    () => commands,
    () => levels.pane.focus(),
  );

  commands = createCommands(store, transport, {
    width: levels.trackWidth,
    focusSearch: search.focus,
    save,
    editNote: () => pins.editNote(),
    savePicture: (kind) => savePicture(save, kind, levels.picture(), levels.marks(), levels.colours(), 'hotlens-timeline'),
  });
  levels.bindCommands(commands);
  restOnElements(breakdown, rest);
  highlightLines(store, transport);

  const tools = element(
    'div',
    { class: 'tools' },
    ...BUTTONS.map(([command, text]) => button(text, wordsOf(command), () => commands.run(command), 'tool', wordsOf(command))),
  );
  document.body.append(
    element('div', { class: 'top' }, header, search.root),
    element('div', { class: 'strip' }, steps, legend),
    element('main', {}, story, element('div', { class: 'bar' }, crumbs, said, tools), levels.pane),
    element('aside', { attributes: { 'aria-label': 'selected block' } }, pins.root, details),
    breakdown,
    batch.root,
    help,
    spokenLine,
  );
  function renderCrumbs(state: State): void {
    const labels = state.view.path.map((segment, depth) => state.levels[depth + 1]?.whole?.level.crumbs.at(-1)?.label ?? segment);
    const names = [isRecording(state.view) ? 'recording' : `step ${state.overview?.steps[state.view.step ?? 0]?.index ?? ''}`, ...labels];
    refill(
      crumbs,
      ...names.map((name, depth) =>
        button(
          shortName(name),
          `${name}\nclose the levels below this one`,
          () => depth < state.view.path.length && store.dispatch({ type: 'close', depth }),
        ),
      ),
    );
  }

  function render(state: State, before: State | undefined): void {
    const changed = (...keys: (keyof State)[]): boolean => before === undefined || keys.some((key) => state[key] !== before[key]);
    const viewChanged = (key: keyof State['view']): boolean => before === undefined || state.view[key] !== before.view[key];
    const width = levels.trackWidth();
    if (changed('overview', 'profiles') || viewChanged('profile') || viewChanged('before') || viewChanged('beforeStep'))
      refill(header, ...renderHeader(state, store));
    if (changed('overview')) refill(story, ...renderStory(state, store));
    if (changed('overview') || viewChanged('step') || viewChanged('beforeStep')) {
      if (before === undefined || changed('overview')) steps.replaceChildren(...renderSteps(state, store));
      else markSteps(steps, state, before);
      setTimeout(() => steps.querySelector('.step.shown')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })); // after the picture
    }
    if (changed('overview', 'levels', 'beside')) legend.replaceChildren(...renderLegend(stagesShown(state), levels.colours().theme));
    if (changed('overview', 'levels') || viewChanged('path') || viewChanged('step')) renderCrumbs(state);
    if (changed('connection', 'failures', 'profiles', 'overview', 'note')) {
      const { text, error } = sentence(state);
      said.textContent = text;
      said.title = text;
      said.classList.toggle('error', error);
    }
    if (changed('overview', 'details', 'idle', 'failures', 'levels', 'range', 'beside') || viewChanged('cursor') || viewChanged('alone')) {
      refill(
        details,
        ...(state.range === undefined
          ? renderDetails(state, store, commands, width)
          : renderRange(state.range, state.failures['range'], isBeside(state.view))),
      );
      const words = spokenSelection(state, width);
      if (spokenLine.textContent !== words) spokenLine.textContent = words;
    }
    if (
      changed('overview', 'breakdowns', 'drill', 'comparisons', 'expanded', 'failures') ||
      viewChanged('step') ||
      viewChanged('before') ||
      viewChanged('beforeStep') ||
      viewChanged('alone')
    ) {
      breakdown.classList.toggle('low', isBeside(state.view));
      refill(
        breakdown,
        ...(!isComparing(state.view) ? renderBreakdown(state, store, commands, levels.colours()) : renderCompare(state, store)),
      );
    }
    if (changed('pinned', 'overview') || viewChanged('pins') || viewChanged('cursor') || viewChanged('step')) pins.render(state);
    if (changed('batch', 'failures')) batch.render(state.batch, state.failures['batch sizes']);
    if (changed('search')) search.render(state);
    if (changed('help') && state.help && help.childElementCount === 0) help.append(element('h2', { text: 'Keys' }), helpTable());
    if (changed('help')) help.classList.toggle('open', state.help);
  }

  store.subscribe(render);
  render(store.get(), undefined);

  document.addEventListener('keydown', (event) => {
    if (isTyping(event.target)) return;
    const command = commandFor(event);
    const pressed =
      event.target instanceof HTMLElement && event.target.matches('button, summary') && (event.key === 'Enter' || event.key === ' ');
    if (command === undefined || pressed) return;
    event.preventDefault();
    commands.run(command);
  });

  // VS Code changes the classes of the body when its theme changes; a browser its preference.
  const recolour = (): void => {
    levels.recolour();
    render(store.get(), undefined);
  };
  new MutationObserver(recolour).observe(document.body, { attributeFilter: ['class'] });
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'])
    matchMedia(query).addEventListener('change', recolour);
}
