// The step time in the status bar, from the server's hotlens/profileChanged.
import * as vscode from 'vscode';

// hotlens/profileChanged and the result of hotlens/profileState, see protocol/MESSAGES.md.
export interface ProfileState {
  readonly profile?: {
    readonly id: string;
    readonly source?: string;
    readonly folder?: string; // of the bundle; empty of a trace
    readonly torch?: string;
    readonly created?: string;
    readonly step?: string; // its time
  };
  readonly loading: boolean;
  readonly running: boolean;
  readonly message?: string;
  readonly chosen?: string; // an older profile
  readonly baseline?: string;
}

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('hotlens', vscode.StatusBarAlignment.Right);

  constructor() {
    this.item.name = 'Hotlens';
  }

  show(state: ProfileState): void {
    const time = state.profile?.step;
    if (time === undefined && !state.running) return this.item.hide();
    this.item.text = state.running
      ? `$(sync~spin) ${vscode.l10n.t('Profiling')}`
      : `$(flame) ${vscode.l10n.t('{0}/step', time ?? '')}${state.chosen === undefined ? '' : ` ${vscode.l10n.t('(older profile)')}`}`;
    this.item.command = state.running ? 'hotlens.showOutput' : 'hotlens.showLog';
    this.item.tooltip = [
      state.message,
      state.profile?.id,
      state.profile?.torch && `torch ${state.profile.torch}`,
      state.baseline && vscode.l10n.t('against {0}', state.baseline),
      state.running ? vscode.l10n.t('Click to see what the script prints') : vscode.l10n.t('Click for the log'),
    ]
      .filter((line) => line !== undefined && line !== '')
      .join('\n');
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }
}
