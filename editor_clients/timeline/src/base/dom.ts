// Elements of the page. Text only ever becomes a text node; styles are set on elements, never as attributes: a strict CSP lets nothing else in.
import { upright } from './format';

export interface Properties {
  readonly class?: string;
  readonly text?: string;
  readonly title?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly style?: Readonly<Record<string, string>>; // by CSS name, custom properties included
  readonly on?: { readonly [Kind in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Kind]) => void };
}

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (properties.class !== undefined) made.className = properties.class;
  if (properties.text !== undefined) made.textContent = upright(properties.text);
  if (properties.title !== undefined) made.title = upright(properties.title);
  for (const [name, value] of Object.entries(properties.attributes ?? {})) made.setAttribute(name, value);
  for (const [name, value] of Object.entries(properties.style ?? {})) made.style.setProperty(name, value);
  for (const [kind, listener] of Object.entries(properties.on ?? {})) made.addEventListener(kind, listener as EventListener);
  made.append(...children.map((child) => (typeof child === 'string' ? upright(child) : child)));
  return made;
}

// What is no cell yet stands in one of its own.
export const tableRow = (properties: Properties, ...cells: readonly (HTMLElement | string)[]): HTMLElement =>
  element('tr', properties, ...cells.map((cell) => (typeof cell !== 'string' && cell.localName === 'td' ? cell : element('td', {}, cell))));

export const button = (text: string, title: string, press: () => void, kind = 'link', spoken?: string): HTMLButtonElement =>
  element('button', {
    class: kind,
    text,
    title,
    attributes: { type: 'button', ...(spoken === undefined ? {} : { 'aria-label': spoken }) },
    on: { click: press },
  });

const nameOf = (each: Element): string => each.getAttribute('aria-label') ?? each.textContent ?? '';

const awaited = new WeakMap<HTMLElement, string>(); // what had the focus in a container that shows nothing yet

// What had the focus of who works with keys; after a click keys are for the levels.
function focusedIn(container: HTMLElement): string | undefined {
  const active = document.activeElement;
  if (active === container) return awaited.get(container);
  return active !== null && container.contains(active) && active.matches(':focus-visible') ? nameOf(active) : undefined;
}

// New children in place of the old ones. The focus stays: on what has the same name, else on the first that takes it, else on the container
// until there is something.
export function refill(container: HTMLElement, ...children: readonly HTMLElement[]): void {
  const name = focusedIn(container);
  container.replaceChildren(...children);
  if (name === undefined) return;
  const controls = [...container.querySelectorAll<HTMLElement>('button, select, input, summary')];
  if (controls.length === 0) {
    awaited.set(container, name);
    container.tabIndex = -1;
  }
  (controls.find((each) => nameOf(each) === name) ?? controls[0] ?? container).focus({ preventScroll: true });
}
