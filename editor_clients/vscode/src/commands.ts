// The commands a person can run. Each is one sentence to the client.
import * as vscode from "vscode";
import { selectionOf, SERVER_CANCEL, SERVER_PROFILE, type Client } from "./client";

export function registerCommands(client: Client, log: vscode.LogOutputChannel): vscode.Disposable[] {
  return [
    // The file's menu passes its uri. Whatever else calls this (a link, a key binding) profiles the file in the editor.
    vscode.commands.registerCommand("hotlens.profile", async (target: unknown) => {
      const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
      await client.execute(SERVER_PROFILE, uri === undefined ? {} : { uri: uri.toString() });
    }),
    vscode.commands.registerCommand("hotlens.cancel", () => client.execute(SERVER_CANCEL)),
    vscode.commands.registerCommand("hotlens.showTimeline", async (asked: unknown) => {
      if (await client.start()) client.timeline.show(selectionOf(asked));
    }),
    vscode.commands.registerCommand("hotlens.restart", () => client.restart()),
    vscode.commands.registerCommand("hotlens.showLog", () => log.show()),
  ];
}
