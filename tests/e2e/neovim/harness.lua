-- What a person does and sees in Neovim: the steps of scenarios.json. Text is read from the drawn screen.
local M = {}

local WAIT_MS = 20000
local RUN_WAIT_MS = 180000 -- a run on a busy machine
local LABEL = [[\v^(≠ |\~)?(≈ )?\<?[0-9.]+(…[0-9.]+)?(\+\<?[0-9.]+)* (ns|µs|ms|s)( \<?[0-9]+\%)?( ×[0-9]+)?]]

local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
local workspace, workspace_pids
local remembered, runs, status_lines = {}, {}, {}
local server ---@type string?  process id

local function fail(...) error(string.format(...), 0) end

local function eventually(what, check, ms)
  local seen
  local ok = vim.wait(ms or WAIT_MS, function()
    local good
    good, seen = check()
    return good
  end, 20)
  if not ok then fail('%s; seen: %s', what, type(seen) == 'string' and seen or vim.inspect(seen)) end
end

-- Requests of the client are sent a moment after a change; absence counts only after that.
local function settled()
  vim.wait(700, function() return false end)
end

local function line_of(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    if line:find(text, 1, true) then return number, line end
  end
  fail('no line contains %s', text)
end

local function screen_row(row)
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  return (table.concat(cells):gsub('%s+$', ''))
end

---@return string[]
function M.screen()
  vim.cmd('redraw!')
  return vim.iter(vim.fn.range(1, vim.o.lines)):map(screen_row):totable()
end

-- What is drawn after the line's own text.
local function after_line(number)
  local line = vim.fn.getline(number)
  vim.api.nvim_win_set_cursor(0, { number, 0 })
  vim.cmd('redraw!')
  local row = vim.fn.screenpos(0, number, 1).row
  local text = screen_row(row)
  local start = text:find(line, 1, true)
  return start and vim.trim(text:sub(start + #line)) or fail('line %d is not drawn as it is: %s', number, text)
end

local function hint_of(text)
  local number = line_of(text)
  return vim.fn.matchstr(after_line(number), LABEL)
end

local SHAPES = {
  time = function(label) return label ~= '' and not label:find('≠', 1, true) end,
  repeated = function(label) return label:find('×', 1, true) ~= nil and not label:find('≠', 1, true) end,
  edited = function(label) return vim.startswith(label, '≠') end,
}

local function message_line()
  local rows = {}
  for row = vim.o.lines - vim.o.cmdheight + 1, vim.o.lines do
    table.insert(rows, screen_row(row))
  end
  return vim.trim(table.concat(rows))
end

local function lens_with(text)
  local seen = {}
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    local drawn = after_line(lens.range.start.line + 1)
    if drawn:find(text, 1, true) then return lens.range.start.line + 1 end
    table.insert(seen, drawn)
  end
  return nil, table.concat(seen, ' | ')
end

local function floating_text()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n'), window
    end
  end
end

local function pids(verb) return vim.trim(vim.system({ workspace_pids, workspace, verb }, { text = true }):wait().stdout) end

---@param where { workspace: string, workspace_pids: string }
function M.begin(where)
  workspace, workspace_pids = where.workspace, where.workspace_pids
  vim.o.wrap, vim.o.laststatus, vim.o.cmdheight = false, 2, 2
  vim.api.nvim_create_autocmd('LspProgress', {
    callback = function(event)
      local token, value = event.data.params.token, event.data.params.value
      if value.kind == 'begin' and value.cancellable then runs[token] = 'running' end
      if value.kind == 'end' and runs[token] then runs[token] = 'ended' end
      vim.cmd('redraw!')
      if runs[token] then table.insert(status_lines, message_line()) end
    end,
  })
end

local steps = {}
M.steps = steps

function steps.open(file) vim.cmd.edit(vim.fn.fnameescape(vim.fs.joinpath(workspace, file))) end

function steps.hint(text, shape)
  eventually(('no %s hint at "%s"'):format(shape, text), function()
    local label = hint_of(text)
    return SHAPES[shape](label), label ~= '' and label or after_line((line_of(text)))
  end)
end

function steps.hint_above(text, shape)
  eventually(('no %s hint above "%s"'):format(shape, text), function()
    local number = line_of(text)
    if hint_of(text) ~= '' then return false, 'a hint at the end of the line' end
    local drawn = vim.trim(screen_row(vim.fn.screenpos(0, number, 1).row - 1))
    return SHAPES[shape](vim.fn.matchstr(drawn, LABEL)), drawn
  end)
end

local IN_UNIT = { share = [[\v^\<?[0-9]+\%]], memory = [[\v^[0-9.]+ (kB|MB) \<?[0-9]+\%]], throughput = [[\v^[0-9.]+/s]] }

function steps.hint_in(text, unit)
  eventually(('no %s at "%s"'):format(unit, text), function()
    local drawn = after_line((line_of(text)))
    return vim.fn.match(drawn, IN_UNIT[unit]) == 0, drawn
  end)
end

function steps.no_hint(text)
  settled()
  local label = hint_of(text)
  if label ~= '' then fail('a hint at "%s": %s', text, label) end
end

local BARS = { '▂', '▅', '█' }

-- The level of the sign that is drawn beside a line; 0: none.
local function mark_of(text)
  local number = line_of(text)
  after_line(number)
  local row = vim.fn.screenpos(0, number, 1).row
  for level, bar in ipairs(BARS) do
    if vim.fn.screenstring(row, 1) == bar then return level end
  end
  return 0
end

-- Whether the costly line has its tint, text and hint alike.
local function is_tinted(text)
  local line = line_of(text) - 1
  local marks = vim.api.nvim_buf_get_extmarks(
    0,
    vim.api.nvim_create_namespace('hotlens.heat'),
    { line, 0 },
    { line, -1 },
    { details = true }
  )
  return vim.iter(marks):any(function(mark) return mark[4].line_hl_group == 'HotlensStrongLine' end)
end

function steps.marked(text, level)
  eventually(('no mark of level %d at "%s"'):format(level, text), function()
    local seen = mark_of(text)
    return seen >= level and is_tinted(text) == (seen == #BARS), tostring(seen)
  end)
end

function steps.not_marked(text)
  settled()
  if mark_of(text) ~= 0 then fail('a mark at "%s"', text) end
end

function steps.outline(name, text)
  vim.lsp.buf.document_symbol({ on_list = function(list) vim.fn.setloclist(0, {}, ' ', list) end })
  eventually('no such symbol', function()
    local found = vim.iter(vim.fn.getloclist(0)):find(function(each) return vim.endswith(each.text, ' ' .. name) end)
    return found ~= nil, vim.fn.getloclist(0)
  end)
  local client = assert(vim.lsp.get_clients({ name = 'hotlens', bufnr = 0 })[1])
  local answer = client:request_sync('textDocument/documentSymbol', { textDocument = vim.lsp.util.make_text_document_params() }, WAIT_MS, 0)
  local function has(symbols)
    return vim
      .iter(symbols)
      :any(function(each) return (each.name == name and each.detail:find(text, 1, true) ~= nil) or has(each.children or {}) end)
  end
  if not has(assert(answer).result) then fail('%s', vim.inspect(answer)) end
end

function steps.copy_line(text)
  vim.api.nvim_win_set_cursor(0, { line_of(text), 0 })
  vim.cmd.Hotlens('copy')
  eventually('nothing is copied', function()
    local copied = vim.fn.getreg('"')
    return copied:find('```python\n', 1, true) ~= nil and copied:find(text, 1, true) ~= nil, copied
  end)
end

function steps.calls(text, expected)
  vim.api.nvim_win_set_cursor(0, { line_of(text), 0 })
  vim.cmd.Hotlens('calls')
  eventually('no list', function() return vim.bo.buftype == 'quickfix' end)
  local shown = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  for _, part in ipairs(expected) do
    if not shown:find(part, 1, true) then fail('no %s in %s', part, shown) end
  end
end

function steps.remember(text) remembered[text] = hint_of(text) end

function steps.changed(text)
  eventually('the hint is what it was', function()
    local label = hint_of(text)
    return label ~= '' and label ~= remembered[text], label
  end)
end

function steps.same(text)
  settled()
  local label = hint_of(text)
  if label ~= remembered[text] then fail('%s was %s', label, remembered[text]) end
end

function steps.hover(text, word, expected)
  local number, line = line_of(text)
  vim.api.nvim_win_set_cursor(0, { number, assert(line:find(word, 1, true)) - 1 })
  vim.cmd.normal('K')
  local shown, window
  eventually('no hover with all texts', function()
    shown, window = floating_text()
    if not shown then return false, 'no window' end
    return vim.iter(expected):all(function(part) return shown:find(part, 1, true) ~= nil end), shown
  end)
  vim.api.nvim_win_close(window, true)
  return shown
end

function steps.lens(text)
  eventually(('no lens "%s"'):format(text), function()
    local number, seen = lens_with(text)
    return number ~= nil, seen
  end)
end

function steps.no_lens(text)
  eventually(('the lens "%s" stays'):format(text), function()
    local number, seen = lens_with(text)
    return number == nil, seen
  end)
end

function steps.history(rank)
  local ask, asked = vim.ui.select, false
  vim.ui.select = function(profiles, options, choose)
    vim.ui.select, asked = ask, true
    if not options.format_item(profiles[rank]):find('/step', 1, true) then fail('%s', options.format_item(profiles[rank])) end
    choose(profiles[rank])
  end
  vim.cmd.Hotlens('history')
  eventually('no list of profiles', function() return asked end)
end

function steps.run_lens(text)
  steps.lens(text)
  vim.api.nvim_win_set_cursor(0, { assert(lens_with(text)), 0 })
  local ask = vim.ui.select
  vim.ui.select = function(lenses, options, choose) -- the line has several
    vim.ui.select = ask
    choose(vim.iter(lenses):find(function(lens) return options.format_item(lens):find(text, 1, true) ~= nil end))
  end
  vim.lsp.codelens.run()
end

function steps.run_action(text, title)
  vim.api.nvim_win_set_cursor(0, { line_of(text), 0 })
  vim.lsp.buf.code_action({ apply = true, filter = function(action) return vim.startswith(action.title, title) end })
end

function steps.run_command(name)
  vim.cmd('Hotlens ' .. (name == 'clear' and 'baseline clear' or name))
  if name ~= 'restart' then return end
  eventually('no server is ready', function() return #vim.lsp.get_clients({ name = 'hotlens' }) > 0 end)
end

function steps.report(texts)
  vim.cmd.Hotlens('report')
  eventually('the report has not all texts', function()
    local shown = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    local has = function(text) return shown:find(text, 1, true) ~= nil end
    return vim.bo.filetype == 'hotlens-report' and vim.iter(texts):all(has), shown
  end)
  vim.api.nvim_feedkeys('q', 'xt', false)
end

function steps.printed(texts)
  vim.cmd.Hotlens('output')
  eventually('the output has not all texts', function()
    local shown = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    local has = function(text) return shown:find(text, 1, true) ~= nil end
    return vim.bo.buftype == 'terminal' and vim.iter(texts):all(has), shown
  end)
  vim.api.nvim_feedkeys('q', 'xt', false)
end

function steps.export(format)
  local file = vim.fs.joinpath(workspace, 'hotlens.' .. format)
  vim.cmd.Hotlens({ args = { 'export', format, file } })
  eventually('nothing is written', function() return vim.uv.fs_stat(file) ~= nil end)
end

function steps.set_arguments(line)
  local before = vim.tbl_count(runs)
  vim.wait(1500, function() return false end) -- nobody types before the run that asked for them has ended
  local ask = vim.ui.input
  vim.ui.input = function(_, answer)
    vim.ui.input = ask
    answer(line)
  end
  vim.cmd.Hotlens('arguments')
  eventually('no run begins', function() return vim.tbl_count(runs) > before end)
end

-- The window of the commands, of `?`, and of the help; each is closed again.
function steps.commands(texts)
  vim.cmd.Hotlens()
  local shown = floating_text() or ''
  for _, text in ipairs(texts) do
    if not shown:find(text, 1, true) then fail('no "%s" in %s', text, shown) end
  end
  vim.cmd.close()
end

function steps.keys_of(way, texts)
  vim.cmd.Hotlens(way)
  eventually(
    'no window for ' .. way,
    function() return vim.api.nvim_buf_get_name(0):find('hotlens', 1, true) or vim.bo.filetype:find('hotlens') end
  )
  vim.api.nvim_feedkeys('?', 'x', false)
  local shown = floating_text() or ''
  for _, text in ipairs(texts) do
    if not shown:find(text, 1, true) then fail('no "%s" in %s', text, shown) end
  end
  vim.cmd.close()
  vim.cmd.close()
end

function steps.help(tag)
  vim.cmd.help(tag)
  local line = vim.fn.getline('.')
  if not line:find('*' .. tag .. '*', 1, true) then fail('the help of %s is at: %s', tag, line) end
  vim.cmd.helpclose()
end

function steps.choose_run(way, name)
  local before, ask = vim.tbl_count(runs), vim.ui.select
  vim.ui.select = function(choices, options, choose)
    vim.ui.select = ask
    local labels = vim.tbl_map(options.format_item, choices)
    for index, label in ipairs(labels) do
      if label:find(name .. ': ', 1, true) then return choose(choices[index], index) end
    end
    fail('no %s among %s', name, vim.inspect(labels))
  end
  vim.cmd.Hotlens(way)
  eventually('no run begins', function() return vim.tbl_count(runs) > before end)
end

-- The file, line and text under the cursor.
local function place() return ('%s:%d %s'):format(vim.fs.basename(vim.api.nvim_buf_get_name(0)), vim.fn.line('.'), vim.fn.getline('.')) end

local hot = {} ---@type table<integer, string>  places by rank

function steps.hot_line(way, rank)
  local from = place()
  vim.cmd.Hotlens(way)
  eventually('the cursor stays', function() return place() ~= from, from end)
  local now = place()
  if hot[rank] and hot[rank] ~= now then fail('rank %d is %s, was %s', rank, now, hot[rank]) end
  for other, where in pairs(hot) do
    if other ~= rank and where == now then fail('%s is of two ranks', now) end
  end
  hot[rank] = now
  steps.hint(vim.fn.getline('.'), 'time')
end

-- The last line of the list, chosen in a picker.
local function pick(items)
  local select = vim.ui.select
  vim.ui.select = function(lines, options, choose)
    vim.ui.select = select
    if options.format_item(lines[#items]) ~= items[#items].text then fail('the picker says %s', options.format_item(lines[#items])) end
    choose(lines[#items])
  end
  vim.cmd.Hotlens('hot', 'pick')
  local wanted = vim.fs.basename(vim.api.nvim_buf_get_name(items[#items].bufnr)) .. ':' .. items[#items].lnum .. ' '
  eventually('the picker goes nowhere', function() return vim.startswith(place(), wanted), place() end)
end

function steps.hot_list(rank)
  vim.cmd.Hotlens('hot')
  eventually('no list', function() return vim.bo.buftype == 'quickfix' end)
  local items = vim.fn.getqflist()
  local bars = vim.tbl_map(function(each) return vim.fn.count(each.text, '▇') end, items)
  local sorted = vim.deepcopy(bars)
  table.sort(sorted, function(a, b) return a > b end)
  if bars[1] ~= 10 or not vim.deep_equal(bars, sorted) then fail('bars are %s', vim.inspect(bars)) end
  vim.cmd('cc ' .. rank)
  vim.cmd.cclose()
  local now = place()
  for other, where in pairs(hot) do
    if where == now and other ~= rank then fail('%s is of two ranks', now) end
  end
  if not items[rank].text:find(vim.trim(vim.fn.getline('.')), 1, true) then
    fail('the list says %s, the cursor is at %s', items[rank].text, now)
  end
  steps.hint(vim.fn.getline('.'), 'time')
  pick(items)
  local component = require('hotlens.status').line()
  if not component:find('ms/step', 1, true) then fail('the component of the status line says "%s"', component) end
end

---@param word? string
function steps.progress(word)
  eventually('no progress in the message line', function()
    local shown = vim.iter(status_lines):any(function(line) return line:find(word or 'Profil', 1, true) ~= nil end)
    return next(runs) ~= nil and shown, status_lines
  end)
end

function steps.cancel() vim.cmd.Hotlens('cancel') end

function steps.finished()
  eventually('the run does not end', function()
    local open = vim.tbl_filter(function(state) return state == 'running' end, runs)
    return next(runs) ~= nil and #open == 0, runs
  end, RUN_WAIT_MS)
end

function steps.insert_above(text, new)
  vim.api.nvim_win_set_cursor(0, { line_of(text), 0 })
  vim.cmd.normal({ 'O' .. new, bang = true })
end

function steps.replace(text, old, new)
  local number, line = line_of(text)
  if not vim.endswith(line, old) then fail('"%s" does not end in "%s"', line, old) end
  vim.api.nvim_win_set_cursor(0, { number, #line - #old })
  vim.cmd.normal({ 'C' .. new, bang = true })
end

function steps.undo(text)
  for _ = 1, 5 do
    vim.cmd('silent undo')
    if pcall(line_of, text) then return end
  end
  fail('undo does not bring back "%s"', text)
end

function steps.save() vim.cmd('silent write') end

function steps.diagnostic(text, message)
  eventually('no diagnostic', function()
    local found = vim.diagnostic.get(0, { lnum = line_of(text) - 1 })
    return vim.iter(found):any(function(each) return each.message:find(message, 1, true) ~= nil end), vim.diagnostic.get(0)
  end)
end

steps.advice = steps.diagnostic

function steps.no_advice(text, message)
  eventually('the advice stays', function()
    local found = vim.diagnostic.get(0, { lnum = line_of(text) - 1 })
    return not vim.iter(found):any(function(each) return each.message:find(message, 1, true) ~= nil end), found
  end)
end

function steps.tell_again(name)
  local ask, asked = vim.ui.select, false
  vim.ui.select = function(choices, options, choose)
    vim.ui.select, asked = ask, true
    for index, choice in ipairs(choices) do
      if vim.startswith(options.format_item(choice), name .. ': ') then return choose(choice, index) end
    end
    fail('no %s among %s', name, vim.inspect(vim.tbl_map(options.format_item, choices)))
  end
  vim.cmd.Hotlens('silenced')
  eventually('no list of silenced advice', function() return asked end)
end

function steps.message(text)
  settled() -- nothing may take its place
  eventually('no message', function()
    vim.cmd('redraw!')
    local shown = message_line()
    return shown:find(text, 1, true) ~= nil, shown
  end)
end

function steps.hottest_seen()
  eventually('no window with the hottest line', function()
    vim.cmd('redraw!')
    local said = message_line()
    local file, number, label = said:match('Hottest line: (%S+):(%d+), (.-)%. %(')
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local name = vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window)))
      local line = vim.api.nvim_win_get_cursor(window)[1]
      local drawn = screen_row(vim.fn.screenpos(window, line, 1).row)
      if name == file and line == tonumber(number) and drawn:find(label, 1, true) then return true end
    end
    return false, said
  end)
end

function steps.cursor(text)
  eventually('no client for this file', function() return #vim.lsp.get_clients({ name = 'hotlens', bufnr = 0 }) > 0 end)
  vim.api.nvim_win_set_cursor(0, { line_of(text), 0 })
  vim.cmd.doautocmd('CursorMoved') -- no key was typed
end

local function timeline_window() return vim.fn.bufwinid('hotlens://timeline') end

local function in_timeline(keys)
  vim.api.nvim_set_current_win(timeline_window())
  vim.api.nvim_feedkeys(vim.keycode(keys), 'tx', false)
end

function steps.timeline()
  vim.cmd('Hotlens timeline text')
  eventually('no timeline', function() return timeline_window() ~= -1 end)
  vim.cmd.wincmd('p')
end

-- What the hover says to type, as text.
function steps.timeline_from_hover(text, word)
  local shown = steps.hover(text, word, { 'Show in timeline' })
  vim.cmd(assert(shown:match('Show in timeline: :(%w+ %w+)'), shown) .. ' text')
  vim.cmd.wincmd('p')
end

function steps.timeline_shows(texts)
  eventually("the timeline's selection is another one", function()
    local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(timeline_window()), 0, -1, false)
    local selected = vim.iter(lines):find(function(line) return vim.startswith(line, '▸') end) or ''
    return vim.iter(texts):all(function(text) return selected:find(text, 1, true) ~= nil end), table.concat(lines, '\n')
  end)
end

function steps.timeline_search(text) in_timeline('/' .. text .. '<CR>') end

function steps.timeline_line(file, text)
  in_timeline('gd') -- once: an answer to a second one would move the cursor away from where the next step puts it
  eventually('no line', function() return vim.endswith(vim.api.nvim_buf_get_name(0), file), vim.api.nvim_buf_get_name(0) end)
  local line = vim.api.nvim_get_current_line()
  if not line:find(text, 1, true) then fail('the cursor is at %s', line) end
end

-- What highlights the lines: a page in a browser that shares the session, played by point_from_page.py.
local page ---@type vim.SystemObj?
local look

local function open_page()
  local address
  local open = vim.ui.open
  vim.ui.open = function(url)
    address = url
    return nil, nil
  end
  vim.cmd('Hotlens timeline browser')
  eventually('no address', function() return address ~= nil end)
  vim.ui.open = open
  return vim.system({ vim.env.HOTLENS_TEST_PYTHON, vim.fs.joinpath(here, 'point_from_page.py'), address }, { stdin = true })
end

local function editor_look() return { vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0), vim.fn.winsaveview().topline } end

local function highlighted_lines()
  local namespace, highlighted = vim.api.nvim_create_namespace('hotlens.pointed'), {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, {})) do
      table.insert(highlighted, vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, true)[1])
    end
  end
  return highlighted
end

function steps.timeline_point(name)
  page = page or open_page()
  look = editor_look()
  page:write(name .. '\n')
end

function steps.highlighted(text)
  eventually(('"%s" is not highlighted'):format(text), function()
    local highlighted = highlighted_lines()
    return vim.iter(highlighted):any(function(line) return line:find(text, 1, true) ~= nil end), highlighted
  end)
  if not vim.deep_equal(look, editor_look()) then fail('highlighting moved the editor: %s', vim.inspect({ look, editor_look() })) end
end

function steps.not_highlighted()
  eventually('a line stays highlighted', function() return #highlighted_lines() == 0, highlighted_lines() end)
end

function steps.something_runs()
  eventually('no recorder process', function() return pids('record') ~= '' end)
end

function steps.nothing_runs()
  eventually('a recorder process is left', function()
    local left = pids('record')
    return left == '', left
  end, 3000)
end

function steps.one_server()
  eventually('not one server, or the one from before', function()
    local found = pids('lsp')
    if not found:match('^%d+$') or found == server then return false, found end
    server = found
    return true
  end)
end

return M
