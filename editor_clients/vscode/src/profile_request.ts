// What leaves for the server where a command runs the script: with changed files saved, because the script runs from disk, and with the Python
// that somebody chose here; nothing in a workspace that is not trusted.
import * as vscode from 'vscode';
import { isExecutable, pythonSources } from './config';
import { explainTrust } from './dialogs';
import { lookedAt, saveNotebooks } from './places';
import { findPython, foundPythons } from './python';
import { SERVER_ARGUMENTS, SERVER_CHOOSE_INTERPRETER, SERVER_CHOOSE_RUN, SERVER_PROFILE, SERVER_VERIFY } from './server_commands';

// The commands that run the script; the argument of each is a ProfileRequest.
export const RUNNING: readonly string[] = [SERVER_PROFILE, SERVER_ARGUMENTS, SERVER_CHOOSE_RUN, SERVER_CHOOSE_INTERPRETER, SERVER_VERIFY];

interface ProfileRequest {
  readonly uri?: string;
  readonly script?: string;
  readonly args?: readonly string[];
  readonly python?: string;
  readonly interpreters?: readonly string[]; // that are known here: a list to choose from where the run's cannot train
  readonly saved?: boolean; // nobody asked but the setting
}

export class ProfileRequests {
  private saving = false;

  // Whether files are being saved here: nobody else did.
  isSaving(): boolean {
    return this.saving;
  }

  // The request with what this editor knows, or undefined when nothing may run.
  async prepare(asked: unknown): Promise<ProfileRequest | undefined> {
    if (!vscode.workspace.isTrusted) {
      await explainTrust();
      return undefined;
    }
    const request: ProfileRequest = typeof asked === 'object' && asked !== null ? asked : {};
    const uri = request.uri ?? lookedAt()?.toString();
    if (request.saved !== true) await this.save();
    const resource = uri === undefined ? undefined : vscode.Uri.parse(uri);
    const sources = await pythonSources(resource);
    const python = findPython(sources, isExecutable);
    const interpreters = foundPythons(sources, isExecutable).map(({ path }) => path);
    return { ...request, ...(uri === undefined ? {} : { uri }), ...(python === undefined ? {} : { python: python.path }), interpreters };
  }

  private async save(): Promise<void> {
    this.saving = true;
    try {
      await saveScripts();
      await saveNotebooks();
    } finally {
      this.saving = false;
    }
  }
}

async function saveScripts(): Promise<void> {
  const changed = vscode.workspace.textDocuments.filter((doc) => doc.isDirty && doc.languageId === 'python' && doc.uri.scheme === 'file');
  await Promise.all(changed.map((doc) => doc.save()));
}
