// A run that can be cancelled shows as a notification with a Cancel button; the language client would hide it in the status bar.
import * as vscode from 'vscode';
import type { WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport } from 'vscode-languageclient/node';

type Token = string | number;
type Value = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

interface Run {
  report(message: string | undefined, percentage: number | undefined): void;
  end(): void;
}

export class RunProgress {
  private readonly runs = new Map<Token, Run>();

  constructor(private readonly cancel: (token: Token) => void) {}

  // True when the value belongs to a run shown here.
  handle(token: Token, value: Value): boolean {
    if (value.kind === 'begin') {
      if (value.cancellable !== true) return false;
      this.runs.set(
        token,
        show(value, () => this.cancel(token)),
      );
      return true;
    }
    const run = this.runs.get(token);
    if (run === undefined) return false;
    if (value.kind === 'report') {
      run.report(value.message, value.percentage);
    } else {
      run.end();
      this.runs.delete(token);
    }
    return true;
  }
}

function show(begin: WorkDoneProgressBegin, cancelled: () => void): Run {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let shown: vscode.Progress<{ message?: string; increment?: number }> | undefined;
  let percent = 0;
  const report = (message: string | undefined, percentage: number | undefined): void => {
    const increment = percentage === undefined ? undefined : Math.max(0, percentage - percent);
    percent += increment ?? 0;
    shown?.report({ ...(message === undefined ? {} : { message }), ...(increment === undefined ? {} : { increment }) });
  };
  void vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: begin.title, cancellable: true },
    async (progress, token) => {
      shown = progress;
      token.onCancellationRequested(cancelled);
      report(begin.message, begin.percentage);
      await finished;
    },
  );
  return { report, end: finish };
}
