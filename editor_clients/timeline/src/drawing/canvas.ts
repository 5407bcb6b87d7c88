// The canvas itself: as large as the pane, in the pixels of the screen, drawn whole.
import { element } from '../base/dom';
import type { Colours } from '../base/palette';
import type { Picture } from '../layout/layout';
import { drawPicture, type Marks } from './draw';
import { canvasPen } from './pen';

interface Size {
  readonly width: number;
  readonly height: number;
}

export interface LevelCanvas {
  readonly root: HTMLElement;
  readonly draw: (picture: Picture, marks: Marks, colours: Colours, size: Size, top: number) => void; // `top`: how far the pane is scrolled
}

export function createLevelCanvas(): LevelCanvas {
  const root = element('canvas', { attributes: { 'aria-hidden': 'true' } });
  const context = root.getContext('2d', { alpha: false })!;
  let pen: { readonly of: Colours; readonly canvas: ReturnType<typeof canvasPen> } | undefined;
  let pictured = false;

  function resize({ width, height }: Size): number {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (root.width !== w || root.height !== h || pen === undefined) {
      root.width = w;
      root.height = h;
      root.style.setProperty('width', `${w / ratio}px`);
      root.style.setProperty('height', `${h / ratio}px`);
      pen = undefined;
    }
    return ratio;
  }

  return {
    root,
    draw(picture, marks, colours, size, top) {
      if (pen?.of !== colours) pen = undefined;
      const ratio = resize(size);
      pen ??= { of: colours, canvas: canvasPen(context, ratio, colours.font) };
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.globalAlpha = 1;
      context.fillStyle = colours.ground;
      context.fillRect(0, 0, size.width, size.height);
      context.setTransform(ratio, 0, 0, ratio, 0, -Math.round(top * ratio));
      drawPicture(pen.canvas, picture, marks, colours, [top, top + size.height]);
      if (pictured || picture.levels[0]?.level === undefined) return;
      pictured = true;
      performance.mark('hotlens first picture');
    },
  };
}
