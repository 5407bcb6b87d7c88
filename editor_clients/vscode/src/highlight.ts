// The lines of what the pointer rests on in the timeline, highlighted where they are visible. Nothing is scrolled, selected or focused.
import * as vscode from 'vscode';
import type { HighlightedLines } from './lines';

export class Highlight implements vscode.Disposable {
  private readonly look = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
    borderColor: new vscode.ThemeColor('contrastActiveBorder'), // themes of high contrast only
    borderStyle: 'solid',
    borderWidth: '1px 0',
  });

  // In place of those that were highlighted before.
  show(lines: readonly HighlightedLines[]): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const uri = editor.document.uri.toString();
      const here = lines.filter((each) => vscode.Uri.parse(each.uri).toString() === uri);
      editor.setDecorations(
        this.look,
        here.map(({ line, endLine }) => new vscode.Range(line, 0, endLine, 0)),
      );
    }
  }

  dispose(): void {
    this.look.dispose();
  }
}
