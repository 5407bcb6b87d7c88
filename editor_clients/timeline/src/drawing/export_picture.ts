// The picture of the open levels as a file: SVG with real text, or PNG at twice the size.
import { element } from '../base/dom';
import type { Colours } from '../base/palette';
import type { Picture } from '../layout/layout';
import { drawPicture, type Marks } from './draw';
import { canvasPen, FONT_SIZE, remembered, svgPen } from './pen';

const PNG_SCALE = 2;

export function pictureAsSvg(picture: Picture, marks: Marks, colours: Colours, measure: (text: string) => number): string {
  const pen = svgPen(colours.font, measure);
  drawPicture(pen, picture, marks, colours, [0, picture.height]);
  return pen.document(picture.width, picture.height, colours.ground);
}

// Where a file goes: a download of the browser, or the editor's own dialogue.
export type Save = (name: string, file: Blob) => void;

export function download(name: string, file: Blob): void {
  const address = URL.createObjectURL(file);
  element('a', { attributes: { href: address, download: name } }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function canvasOf(width: number, height: number): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
  const canvas = element('canvas');
  canvas.width = width;
  canvas.height = height;
  return { canvas, context: canvas.getContext('2d')! };
}

export function savePicture(save: Save, kind: 'svg' | 'png', picture: Picture, marks: Marks, colours: Colours, name: string): void {
  if (kind === 'svg') {
    const { context } = canvasOf(1, 1);
    context.font = `${FONT_SIZE}px ${colours.font}`;
    const measure = remembered((text) => context.measureText(text).width);
    return save(`${name}.svg`, new Blob([pictureAsSvg(picture, marks, colours, measure)], { type: 'image/svg+xml' }));
  }
  const { canvas, context } = canvasOf(picture.width * PNG_SCALE, Math.ceil(picture.height) * PNG_SCALE);
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(PNG_SCALE, PNG_SCALE);
  drawPicture(canvasPen(context, PNG_SCALE, colours.font), picture, marks, colours, [0, picture.height]);
  canvas.toBlob((blob) => {
    if (blob !== null) save(`${name}.png`, blob);
  }, 'image/png');
}
