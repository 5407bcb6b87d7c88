// Hints are asked for again when the server says that they are others. VS Code 1.100 always hears that. An editor of 1.106 stops listening
// once it has asked twice for the hints of a file, so new ones would come only with the next edit or scroll. Both ask again when a provider
// of hints comes or goes.
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
