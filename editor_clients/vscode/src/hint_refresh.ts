// Hints are asked for again when the server says that they are others. An editor of VS Code 1.106 hears that only until it has asked twice
// (1.100 always does: in between, the listener moved to what each answer disposes of), so new hints came with the next edit or scroll. What
// every version hears is a provider of hints that comes or goes.
import * as vscode from 'vscode';
import { Message, type MessageStrategy } from 'vscode-languageclient/node';

const NOWHERE: vscode.DocumentSelector = { scheme: 'hotlens-nowhere' };

export const ASKS_FOR_HINTS_AGAIN: MessageStrategy = {
  handleMessage(message, next) {
    const done = next(message);
    if (Message.isRequest(message) && message.method === 'workspace/inlayHint/refresh')
      vscode.languages.registerInlayHintsProvider(NOWHERE, { provideInlayHints: () => [] }).dispose();
    return done;
  },
};
