// As much of a page as widgets need to be made and pressed outside a browser.

type Listener = (event: object) => void;

class FakeElement {
  className = '';
  title = '';
  value = '';
  readonly style = { setProperty: (): void => undefined };
  private inside: (FakeElement | string)[] = [];
  private readonly attributes = new Map<string, string>();
  private readonly listeners = new Map<string, Listener[]>();
  constructor(readonly localName: string) {}

  readonly classList = { contains: (name: string): boolean => this.className.split(' ').includes(name) };
  append = (...children: readonly (FakeElement | string)[]): void => void this.inside.push(...children);
  setAttribute = (name: string, value: string): void => void this.attributes.set(name, value);
  addEventListener = (kind: string, listener: Listener): void =>
    void this.listeners.set(kind, [...(this.listeners.get(kind) ?? []), listener]);
  tell = (kind: string, event: object): void => this.listeners.get(kind)?.forEach((listener) => listener(event));

  get textContent(): string {
    return this.inside.map((each) => (typeof each === 'string' ? each : each.textContent)).join('');
  }
  set textContent(text: string) {
    this.inside = [text];
  }
  get all(): FakeElement[] {
    return [this, ...this.inside.flatMap((each) => (typeof each === 'string' ? [] : each.all))];
  }
}

(globalThis as Record<string, unknown>)['document'] = { createElement: (tag: string) => new FakeElement(tag) };

const allOf = (made: readonly HTMLElement[]): FakeElement[] => (made as unknown as FakeElement[]).flatMap((each) => each.all);

export const textOf = (made: readonly HTMLElement[]): string => made.map(({ textContent }) => textContent).join(' ');

export const countOf = (made: readonly HTMLElement[], kind: string): number =>
  allOf(made).filter(({ classList }) => classList.contains(kind)).length;

// The button with this text.
export function press(made: readonly HTMLElement[], text: string, event: { readonly shiftKey?: boolean } = {}): void {
  const button = allOf(made).find(({ localName, textContent }) => localName === 'button' && textContent === text);
  if (button === undefined) throw new Error(`no button says ${text}: ${textOf(made)}`);
  button.tell('click', { shiftKey: false, ...event });
}
