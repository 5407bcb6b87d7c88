// The workspace of a scenario: a copy of the example, with a profile recorded once at the same path.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const RUN_MS = 300000;

function copyExample(example, workspace) {
  fs.rmSync(workspace, { recursive: true, force: true });
  fs.cpSync(example, workspace, { recursive: true, filter: (file) => !/[/\\](\.hotlens|__pycache__)$/.test(file) });
}

// Profiles hold absolute paths, so the profile is recorded where the scenarios run, and kept aside.
export function recordProfile({ hotlens, example, workspace, python, keep }) {
  copyExample(example, workspace);
  const run = spawnSync(hotlens, ["run", ...(python ? ["--python", python] : []), "train.py"], { cwd: workspace, encoding: "utf8", timeout: RUN_MS });
  const profiles = path.join(workspace, ".hotlens");
  if (run.status !== 0 || !fs.existsSync(profiles)) throw new Error(`hotlens run failed (${run.status}): ${run.stderr}`);
  fs.cpSync(profiles, keep, { recursive: true });
  return keep;
}

export function prepareWorkspace({ example, workspace, bundles, change }) {
  copyExample(example, workspace);
  if (bundles !== undefined) fs.cpSync(bundles, path.join(workspace, ".hotlens"), { recursive: true });
  for (const [file, [old, replacement]] of Object.entries(change ?? {})) {
    const place = path.join(workspace, file);
    const text = fs.readFileSync(place, "utf8");
    if (!text.includes(old)) throw new Error(`${file} does not contain ${old}`);
    fs.writeFileSync(place, text.replace(old, replacement));
  }
}
