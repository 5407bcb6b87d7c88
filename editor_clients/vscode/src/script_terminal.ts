// What a script prints while it is profiled, in a terminal that opens when somebody asks for it: colours, progress bars, links in tracebacks.
import * as vscode from 'vscode';
import { Printed } from './printed';

export class ScriptTerminal implements vscode.Disposable {
  private readonly printed = new Printed();
  private readonly writes = new vscode.EventEmitter<string>();
  private terminal: vscode.Terminal | undefined;
  private ready = false;

  receive(params: unknown): void {
    const written = this.printed.receive(params);
    if (this.ready && written !== '') this.writes.fire(written);
  }

  // False when nothing was printed yet.
  show(): boolean {
    if (this.printed.text() === '') return false;
    this.terminal ??= this.make();
    this.terminal.show(true);
    return true;
  }

  dispose(): void {
    this.terminal?.dispose();
    this.writes.dispose();
  }

  private make(): vscode.Terminal {
    const closed = (): void => {
      this.terminal = undefined;
      this.ready = false;
    };
    const open = (): void => {
      this.ready = true;
      this.writes.fire(this.printed.text());
    };
    const pty: vscode.Pseudoterminal = { onDidWrite: this.writes.event, open, close: closed };
    return vscode.window.createTerminal({ name: 'Hotlens', pty, iconPath: new vscode.ThemeIcon('flame'), isTransient: true });
  }
}
