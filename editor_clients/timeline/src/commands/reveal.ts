// A line is shown in the editor, where there is one.
import type { Details, Place } from '../server/details_messages';
import type { InView } from '../state/in_state';
import { note } from '../state/state';
import { sayWhy, type Ways } from './ways';

// Of the profile that is shown if none is named.
export type Line = Pick<Place, 'file' | 'line'> & { readonly profile?: string | undefined };

export type Reveal = (line: Line) => void;

// The line that stands for a block: where it is defined, else the first that is known.
export const placeOf = (details: Details | undefined): Place | undefined =>
  details?.places.find(({ what }) => what === 'definition') ?? details?.places[0];

export const createReveal =
  (ways: Ways<InView<'profile'>>): Reveal =>
  ({ file, line, profile = ways.read().view.profile }) => {
    const name = file.split(/[\\/]/).at(-1) ?? file;
    const here = `${name}:${line + 1} is shown in the editor.`;
    const nowhere = `The line is ${file}:${line + 1}. Open this profile from an editor to jump there.`;
    ways
      .request('hotlens/timeline/reveal', { file, line, ...(profile === undefined ? {} : { profile }) })
      .then(({ shown }) => ways.dispatch(note(shown ? here : nowhere)))
      .catch(sayWhy(ways));
  };
