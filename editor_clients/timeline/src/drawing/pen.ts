// What a picture is drawn with: the canvas of the page, or an SVG document with the same marks.
import { upright } from '../base/format';

export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: string, opacity?: number): void;
  frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void;
  hatch(x: number, y: number, width: number, height: number, stroke: string): void;
  polygon(points: readonly (readonly [number, number])[], fill: string, opacity: number): void;
  curve(from: readonly [number, number], to: readonly [number, number], stroke: string, opacity: number): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: string): void;
  text(x: number, y: number, text: string, fill: string, font?: 'bold'): void;
  measure(text: string): number;
}

export const FONT_SIZE = 12;
const HATCH = 6; // pixels between two lines
const MEASURED = 4000; // texts whose width is remembered

// Widths are asked for again in every frame, of mostly the same texts.
export function remembered(measure: (text: string) => number): (text: string) => number {
  const widths = new Map<string, number>();
  return (text) => {
    let width = widths.get(text);
    if (width === undefined) {
      if (widths.size > MEASURED) widths.clear();
      width = measure(text);
      widths.set(text, width);
    }
    return width;
  };
}

function hatchTile(stroke: string, ratio: number): HTMLCanvasElement {
  const tile = document.createElement('canvas');
  tile.width = tile.height = Math.round(HATCH * ratio);
  const context = tile.getContext('2d')!;
  const size = tile.width;
  context.strokeStyle = stroke;
  context.lineWidth = ratio;
  context.beginPath();
  for (const offset of [-size, 0, size]) {
    context.moveTo(offset - 1, size + 1);
    context.lineTo(offset + size + 1, -1);
  }
  context.stroke();
  return tile;
}

// `ratio`: device pixels per CSS pixel. The context's transform is the caller's; edges are put on device pixels, so that they stay sharp.
export function canvasPen(context: CanvasRenderingContext2D, ratio: number, font: string): Pen {
  const patterns = new Map<string, CanvasPattern>();
  const fonts = { plain: `${FONT_SIZE}px ${font}`, bold: `600 ${FONT_SIZE}px ${font}` };
  let current = '';
  const use = (kind: string): void => {
    if (kind !== current) context.font = current = kind;
  };
  const snap = (value: number): number => Math.round(value * ratio) / ratio;
  context.textBaseline = 'middle';
  const measure = remembered((text) => {
    use(fonts.plain);
    return context.measureText(text).width;
  });
  const pattern = (stroke: string): CanvasPattern => {
    let made = patterns.get(stroke);
    if (made === undefined) {
      made = context.createPattern(hatchTile(stroke, ratio), 'repeat')!;
      made.setTransform(new DOMMatrix().scale(1 / ratio));
      patterns.set(stroke, made);
    }
    return made;
  };
  return {
    measure,
    rect(x, y, width, height, fill, opacity = 1) {
      if (context.fillStyle !== fill) context.fillStyle = fill;
      if (context.globalAlpha !== opacity) context.globalAlpha = opacity;
      context.fillRect(x, y, width, height);
    },
    frame(x, y, width, height, stroke, thickness) {
      context.globalAlpha = 1;
      context.strokeStyle = stroke;
      context.lineWidth = thickness;
      context.strokeRect(snap(x) + thickness / 2, snap(y) + thickness / 2, Math.max(0, width - thickness), height - thickness);
    },
    hatch(x, y, width, height, stroke) {
      context.globalAlpha = 1;
      context.fillStyle = pattern(stroke);
      context.fillRect(x, y, width, height);
    },
    polygon(points, fill, opacity) {
      context.globalAlpha = opacity;
      context.fillStyle = fill;
      context.beginPath();
      points.forEach(([x, y], index) => (index === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
      context.closePath();
      context.fill();
    },
    curve([x1, y1], [x2, y2], stroke, opacity) {
      context.globalAlpha = opacity;
      context.strokeStyle = stroke;
      context.lineWidth = 1.2;
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
      context.stroke();
    },
    line(x1, y1, x2, y2, stroke) {
      context.globalAlpha = 1;
      context.fillStyle = stroke;
      context.fillRect(snap(x1), snap(y1), Math.max(1 / ratio, x2 - x1), Math.max(1 / ratio, y2 - y1));
    },
    text(x, y, text, fill, kind) {
      use(kind === 'bold' ? fonts.bold : fonts.plain);
      context.globalAlpha = 1;
      context.fillStyle = fill;
      context.fillText(upright(text), x, y);
    },
  };
}

// Control characters have no place in XML; the rest of a hostile name is text once these are escaped.
const escaped = (text: string): string =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

const number = (value: number): string => String(Math.round(value * 100) / 100);

export interface SvgPen extends Pen {
  // The finished document.
  document(width: number, height: number, ground: string): string;
}

export function svgPen(font: string, measure: (text: string) => number): SvgPen {
  const marks: string[] = [];
  const strokes: string[] = [];
  const attributes = (values: Readonly<Record<string, string | number>>): string =>
    Object.entries(values)
      .map(([name, value]) => ` ${name}="${typeof value === 'number' ? number(value) : escaped(value)}"`)
      .join('');
  const mark = (name: string, values: Readonly<Record<string, string | number>>): void =>
    void marks.push(`<${name}${attributes(values)}/>`);
  const hatchOf = (stroke: string): string => {
    if (!strokes.includes(stroke)) strokes.push(stroke);
    return `url(#hatch${strokes.indexOf(stroke)})`;
  };
  return {
    measure,
    rect: (x, y, width, height, fill, opacity = 1) => mark('rect', { x, y, width, height, fill, 'fill-opacity': opacity }),
    frame: (x, y, width, height, stroke, thickness) =>
      mark('rect', {
        x: x + thickness / 2,
        y: y + thickness / 2,
        width: Math.max(0, width - thickness),
        height: height - thickness,
        fill: 'none',
        stroke,
        'stroke-width': thickness,
      }),
    hatch: (x, y, width, height, stroke) => mark('rect', { x, y, width, height, fill: hatchOf(stroke) }),
    polygon: (points, fill, opacity) =>
      mark('polygon', { points: points.map((point) => point.map(number).join(',')).join(' '), fill, 'fill-opacity': opacity }),
    curve: ([x1, y1], [x2, y2], stroke, opacity) =>
      mark('path', {
        d: `M${[x1, y1].map(number)} C${[x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2].map(number)}`,
        fill: 'none',
        stroke,
        'stroke-opacity': opacity,
      }),
    line: (x1, y1, x2, y2, stroke) => mark('line', { x1, y1, x2, y2, stroke }),
    text(x, y, text, fill, kind) {
      const values = { x, y, fill, 'dominant-baseline': 'central', ...(kind === 'bold' ? { 'font-weight': 600 } : {}) };
      marks.push(`<text${attributes(values)}>${escaped(upright(text))}</text>`);
    },
    document(width, height, ground) {
      const tiles = strokes.map(
        (stroke, index) =>
          `<pattern id="hatch${index}" width="${HATCH}" height="${HATCH}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line${attributes({ x1: 0, y1: 0, x2: 0, y2: HATCH, stroke, 'stroke-width': 2 })}/></pattern>`,
      );
      const root = attributes({ xmlns: 'http://www.w3.org/2000/svg', width, height, 'font-family': font, 'font-size': FONT_SIZE });
      return `<svg${root}><defs>${tiles.join('')}</defs><rect${attributes({ width, height, fill: ground })}/>${marks.join('')}</svg>\n`;
    },
  };
}
