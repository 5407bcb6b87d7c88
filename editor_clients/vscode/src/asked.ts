// What a command is asked about: a place in a text, a block of the timeline. Links pass it, and whoever else runs the command.
import * as vscode from 'vscode';
import { addressed } from './link';

export interface Position {
  readonly line: number;
  readonly character: number;
}

// The address as the server knows it. A link is followed in the document that is looked at.
function spelled(uri: string): string {
  const seen = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].flatMap((editor) =>
    editor === undefined ? [] : [editor.document],
  );
  return (
    addressed(
      uri,
      [...seen, ...vscode.workspace.textDocuments].map((document) => document.uri.toString()),
    ) ?? vscode.Uri.parse(uri).toString()
  );
}

// What a link says about the place whose block shall be shown.
export function placeOf(asked: unknown): object | undefined {
  if (typeof asked !== 'object' || asked === null || !('uri' in asked) || !('position' in asked)) return undefined;
  const { uri, position } = asked;
  if (typeof uri !== 'string' || typeof position !== 'object' || position === null) return undefined;
  const { line, character } = position as { line?: unknown; character?: unknown };
  return typeof line === 'number' && typeof character === 'number' ? { uri: spelled(uri), position: { line, character } } : undefined;
}

export function placeAsked(argument: unknown): { uri: string; position: vscode.Position } | undefined {
  const place = placeOf(argument) as { uri: string; position: Position } | undefined;
  return place && { uri: place.uri, position: new vscode.Position(place.position.line, place.position.character) };
}

// What the server answers, or a link says, about the block to show, if it names one.
export function selectionOf(asked: unknown): object | undefined {
  if (typeof asked !== 'object' || asked === null || !('path' in asked) || !Array.isArray(asked.path)) return undefined;
  const { profile, step, before } = asked as { profile?: unknown; step?: unknown; before?: unknown };
  return {
    path: asked.path,
    ...(typeof profile === 'string' ? { profile } : {}),
    ...(typeof step === 'number' ? { step } : {}),
    ...(typeof before === 'string' ? { before } : {}),
  };
}
