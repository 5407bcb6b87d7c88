// Formats the Lua files that are named, or with --check says which are not formatted and ends with 1.
import { readFileSync, writeFileSync } from 'node:fs';
import * as stylua from '@johnnymorganz/stylua';

function style() {
  const config = stylua.Config.new();
  config.column_width = 140;
  config.indent_type = stylua.IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = stylua.QuoteStyle.AutoPreferSingle;
  config.collapse_simple_statement = stylua.CollapseSimpleStatement.Always;
  return config;
}

const check = process.argv[2] === '--check';
const files = process.argv.slice(check ? 3 : 2);
const unformatted = files.filter((file) => {
  const before = readFileSync(file, 'utf8');
  const after = stylua.formatCode(before, style(), undefined, stylua.OutputVerification.Full);
  if (after !== before && !check) writeFileSync(file, after);
  return after !== before;
});
for (const file of unformatted) console.log(`${check ? 'not formatted' : 'formatted'}: ${file}`);
process.exit(check && unformatted.length > 0 ? 1 : 0);
