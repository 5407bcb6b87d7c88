// A text to type elsewhere, with a button that copies it.
import { button, element } from './dom';

export const copiedText = (text: string, copy: (text: string) => void): HTMLElement =>
  element(
    'span',
    { class: 'copied' },
    element('code', { text }),
    button('copy', `copy "${text}"`, () => copy(text), 'tool'),
  );

// `say`: what came of it.
export function copyText(text: string, say: (words: string) => void): void {
  navigator.clipboard
    .writeText(text)
    .then(() => say('copied'))
    .catch(() => say('The browser does not let the page copy: select the text.'));
}
