// What translators start from: every sentence that the extension says by itself, and no other.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const SAID = /l10n\.t\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/g;

function said(): string[] {
  const files = readdirSync('src').filter((name) => name.endsWith('.ts'));
  const texts = files.flatMap((name) => [...readFileSync(`src/${name}`, 'utf8').matchAll(SAID)].map((found) => found[1] ?? found[2] ?? ''));
  return [...new Set(texts)].sort();
}

test('the bundle for translators holds what the extension says', () => {
  const bundle = JSON.parse(readFileSync('l10n/bundle.l10n.json', 'utf8')) as Record<string, string>;
  assert.deepEqual(Object.keys(bundle).sort(), said());
  assert.ok(Object.entries(bundle).every(([key, text]) => key === text));
});

test('no sentence to the user goes around the bundle', () => {
  const files = readdirSync('src').filter((name) => name.endsWith('.ts'));
  for (const name of files) {
    assert.doesNotMatch(readFileSync(`src/${name}`, 'utf8'), /show(?:Information|Warning|Error)Message\(\s*['"]/, name);
  }
});
