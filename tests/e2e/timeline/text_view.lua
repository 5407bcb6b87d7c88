-- nvim --headless -l text_view.lua PLUGIN: the text view's drawing, without a server. Prints "N passed, N failed".
vim.opt.rtp:append(_G.arg[1])
local axis = require('hotlens.timeline_axis')
local foot = require('hotlens.timeline_foot')
local text = require('hotlens.timeline_text')
local words = require('hotlens.timeline_words')
local walk = require('hotlens.timeline_walk')
local passed, failed = 0, 0

local function test(name, run)
  local ok, message = pcall(run)
  if ok then
    passed = passed + 1
  else
    failed = failed + 1
    print('FAIL  text view  ' .. name .. ': ' .. message)
  end
end

local function same(expected, actual)
  if not vim.deep_equal(expected, actual) then error(('expected %s, got %s'):format(vim.inspect(expected), vim.inspect(actual)), 2) end
end

-- Columns as the server sends them; a block is { start, duration, label, kind, stage }.
local function track(name, blocks)
  local columns = {
    start = {},
    duration = {},
    label = {},
    kind = {},
    stage = {},
    count = {},
    busy = {},
    whole = {},
    waiting = {},
    spans = {},
    segment = {},
    open = {},
    labels = {},
    kinds = {},
    stages = {},
  }
  for index, block in ipairs(blocks) do
    columns.start[index], columns.duration[index] = block[1], block[2]
    columns.label[index], columns.kind[index], columns.stage[index] = index - 1, index - 1, index - 1
    columns.labels[index], columns.kinds[index], columns.stages[index] = block[3], block[4] or 'module', block[5] or 'forward'
    columns.count[index], columns.segment[index], columns.open[index] = block.count or 1, block[3], 1
    columns.busy[index] = block.busy or block[2]
    columns.whole[index], columns.waiting[index], columns.spans[index] = block.whole or columns.busy[index], block.waiting or 0, 1
  end
  return { id = name, name = name, blocks = columns }
end

local HOSTILE = 'a\nb\tc\27[31m\0d' .. ('漢字'):rep(40)

test(
  'times have three significant digits',
  function()
    same(
      { '7 ns', '87.4 µs', '1.00 ms', '41.6 ms', '1.04 s', '123 s' },
      vim.tbl_map(words.time, { 7, 87400, 999600, 41600000, 1040000000, 123456000000 })
    )
  end
)

test('a line is as wide as the screen says, whatever the names hold', function()
  for width = 20, 160, 7 do
    for _, name in ipairs({ 'conv1', HOSTILE, '', ('x'):rep(10000) }) do
      local line = text.track(track(name, { { 0, 30, name }, { 40, 60, name } }), { 0, 100 }, width)
      same(16 + width, vim.api.nvim_strwidth(line))
      same(nil, line:find('%c'))
    end
  end
end)

test('blocks cover the cells of their time, and every highlight stays in its line', function()
  math.randomseed(5)
  for _ = 1, 200 do
    local at, blocks = 0, {}
    for index = 1, math.random(30) do
      local duration = math.random(400)
      blocks[index] = { at, duration, 'b' .. index }
      at = at + duration + math.random(0, 50)
    end
    local width = math.random(20, 200)
    local line, marks = text.track(track('cpu', blocks), { 0, at }, width)
    for _, mark in ipairs(marks) do
      if not (mark[2] >= 0 and mark[2] < mark[3] and mark[3] <= #line) then error(vim.inspect(mark)) end
    end
    for _, block in ipairs(blocks) do
      local first, last = text.span({ start = block[1], duration = block[2] }, { 0, at }, width)
      local cells = last - first + 1
      if math.abs(cells - block[2] / at * width) > 1.01 then error(('%d cells for %f'):format(cells, block[2] / at * width)) end
      if first < 1 or last > width then error('outside') end
    end
  end
end)

test('a block with gaps fills as many cells as it is busy, says that time, and how much of it is waiting', function()
  local gaps = track('gpu', { { 0, 100, 'net', busy = 40, whole = 80 } })
  local _, marks = text.track(gaps, { 0, 100 }, 100)
  local cells = 0
  for _, mark in ipairs(marks) do
    cells = cells + mark[3] - mark[2]
  end
  local label = vim.fn.strcharpart(text.track(gaps, { 0, 100 }, 100), 17, 19)
  same('net  40 ns of 80 ns', label)
  -- Below its label every cell is filled, behind it 4 of 10.
  if math.abs(cells - (20 + 0.4 * 80)) > 4 then error(cells .. ' cells') end
  local waits = text.track(track('cpu', { { 0, 100, 'copy', busy = 100, waiting = 100 } }), { 0, 100 }, 100)
  same('copy  100 ns, all waiting', vim.fn.strcharpart(waits, 17, 25))
end)

test('pieces of one block less than a cell apart are one run, others are not', function()
  local level = {
    pixel = 10,
    tracks = { track('gpu', { { 0, 5, 'a' }, { 12, 5, 'a' }, { 24, 5, 'a' }, { 30, 5, 'b' }, { 100, 5, 'b' } }) },
  }
  local columns = level.tracks[1].blocks
  for _, name in ipairs({ 'label', 'kind', 'stage' }) do
    columns[name] = { 0, 0, 0, 3, 3 }
  end
  local blocks = require('hotlens.timeline_runs').joined(level).tracks[1].blocks
  same({ 0, 30, 100 }, blocks.start)
  same({ 29, 5, 5 }, blocks.duration)
  same({ 15, 5, 5 }, blocks.busy)
  same({ 3, 1, 1 }, blocks.spans)
  same({ 'a', 'b', 'b' }, blocks.segment)
end)

test('a track of communication has one colour', function()
  local exchange = track('gpu', { { 0, 100, 'backward', 'stage', 'backward' } })
  exchange.kind = 'communication'
  local _, marks = text.track(exchange, { 0, 100 }, 40)
  same('HotlensCommunication', marks[1][1])
end)

test('idle time and waiting are drawn as what they are', function()
  local line = text.track(track('gpu', { { 0, 50, '', 'idle', 'idle' }, { 50, 50, 'sync', 'wait', 'waiting' } }), { 0, 100 }, 40)
  same(('·'):rep(20), vim.fn.strcharpart(line, 16, 20))
  same('▒', vim.fn.strcharpart(line, 36, 1))
end)

-- A device that works on a block long after its host.
local function late_level()
  local device = track('gpu', { { 0, 100, '', 'idle', 'idle' }, { 900000, 100000, 'gemm' } })
  device.kind = 'device'
  return {
    block = { duration = 1000000 },
    crumbs = {},
    window = { 0, 1000000 },
    extent = { 0, 1000000 },
    moreTracks = 0,
    tracks = { track('cpu', { { 0, 100000, 'conv1' } }), device },
  }
end

test('a long gap before a late device is drawn short, with its time', function()
  local picture = text.picture({ levels = { late_level() }, step = { index = 0 }, columns = 107, foot = {} }) -- 90 cells for tracks
  local window = axis.window(late_level(), 90)
  same({ 100000, 900000 }, window.gap)
  same(true, picture.lines[2]:find('⟨800 µs⟩', 1, true) ~= nil)
  same(('┈'):rep(10), vim.fn.strcharpart(picture.lines[3], 16 + 40, 10))
  same({ 1, 40 }, { text.span({ start = 0, duration = 100000 }, window, 90) })
  same({ 51, 90 }, { text.span({ start = 900000, duration = 100000 }, window, 90) })
  same(true, picture.lines[5]:find('800 µs without work of this block, drawn short', 1, true) ~= nil)
end)

test('time and cells lead to one another, in windows with and without a gap', function()
  for _, gap in ipairs({ {}, { 100000, 900000 } }) do
    local window = { 0, 1000000, gap = gap[1] and gap or nil }
    local before = -1
    for cell = 0, 90, 0.5 do
      local at = axis.time_at(cell, window, 90)
      if math.abs(axis.position(at, window, 90) - cell) > 1e-6 then error(('cell %f is %f'):format(cell, axis.position(at, window, 90))) end
      if at <= before then error('time runs backwards') end
      before = at
    end
  end
  same(
    nil,
    axis.window({ window = { 0, 100 }, extent = { 0, 100 }, tracks = { track('cpu', { { 0, 40, 'a' }, { 60, 40, 'b' } }) } }, 90).gap
  )
end)

test('keys lead over idle time, to the nearest block of the next track, into the next level and no further', function()
  local levels =
    { late_level(), { window = { 0, 100 }, extent = { 0, 100 }, tracks = { track('cpu', { { 0, 10, 'op' }, { 50, 50, 'late' } }) } } }
  local first = walk.first_in(levels, 0)
  same({ depth = 0, track = 1, index = 1 }, first)
  same(nil, walk.sideways(levels, first, 1))
  local device = walk.updown(levels, first, 1)
  same({ depth = 0, track = 2, index = 2 }, device)
  same(nil, walk.sideways(levels, device, -1))
  same({ depth = 1, track = 1, index = 2 }, walk.updown(levels, device, 1))
  same(nil, walk.updown(levels, { depth = 1, track = 1, index = 1 }, 1))
  same({ 1, 2 }, { walk.end_of(levels, device, 1).track == 2 and 1, walk.end_of(levels, { depth = 1, track = 1, index = 1 }, -1).index })
  same({ depth = 1, track = 1, index = 2 }, walk.first_in(levels, 1, 'late'))
  same({ 62, 88 }, walk.zoomed(levels[2], { start = 70, duration = 10 }, 0.25))
  same(nil, walk.zoomed(levels[2], nil, 2))
end)

test('the chosen block is marked, levels follow one another, the foot says the rest', function()
  local level = {
    block = { duration = 100 },
    crumbs = { { label = 'x\n', path = { 'x' } } },
    window = { 0, 100 },
    extent = { 0, 100 },
    moreTracks = 2,
    tracks = { track('cpu', { { 0, 100, 'forward' } }) },
  }
  local picture = text.picture({
    levels = { level, level },
    step = { index = 3 },
    cursor = { depth = 1, track = 1, index = 1 },
    columns = 80,
    foot = { 'one\ntwo' },
  })
  same({ 'step 3  100 ns', 'x   100 ns' }, { picture.lines[1], picture.lines[6] })
  same({ depth = 1, track = 1 }, picture.rows[8])
  local selected = vim.tbl_filter(function(mark) return mark[2] == 'HotlensSelected' end, picture.marks)
  same({ 1, 7 }, { #selected, selected[1][1] })
  for _, line in ipairs(picture.lines) do
    same(nil, line:find('[%c]'))
  end
end)

test('the foot says how much memory was held at most, what ran then, and what of it the block holds', function()
  local overview = { memoryPeak = 6600000, memoryPeakAt = { stage = 'backward', module = 'layer2.0\n' } }
  local state = { levels = {}, overview = overview, details = { memory = { atPeak = 1200 } } }
  same('  memory at most 6.60 MB, in backward of layer2.0\n: 1.20 kB of it here', foot.lines(state)[1])
  overview.memoryPeakAt = { stage = 'zero_grad' }
  same('  memory at most 6.60 MB, in zero grad', foot.lines({ levels = {}, overview = overview })[1])
  same(2, #foot.lines({ levels = {}, overview = {} })) -- the keys
end)

-- The view on a client that gives these answers; `asked` is what was asked for: the method and its params.
local function open_view(answer)
  local asked = {}
  local client = {
    request = function(_, method, params, done)
      local what = method:match('[^/]+$')
      table.insert(asked, { what, params })
      same('{', vim.json.encode(params):sub(1, 1)) -- never a list
      vim.schedule(function() done(nil, answer(what, params)) end)
    end,
  }
  local view = require('hotlens.timeline_view')
  view.open(client)
  local function shows(wanted)
    return vim.wait(
      2000,
      function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find(wanted, 1, true) ~= nil end,
      5
    )
  end
  return asked, shows
end

test('a step is as long as its host takes, and shares are of that; its title says how long the device goes on', function()
  local level = {
    block = { duration = 400 },
    crumbs = {},
    window = { 0, 400 },
    extent = { 0, 400 },
    moreTracks = 0,
    tracks = { track('cpu', { { 0, 50, 'forward' } }) },
  }
  local picture = text.picture({ levels = { level }, step = { index = 3, wall = 100 }, columns = 80, foot = {} })
  same('step 3  100 ns, its device work until 400 ns', picture.lines[1])
  local state = { levels = { level }, overview = { steps = { { wall = 100 } } }, step = 0, cursor = { depth = 0, track = 1, index = 1 } }
  same('▸ forward · module · 50 ns · 50.0 % of the step · cpu', foot.lines(state)[1])
end)

test(
  "above the step is the whole recording: o and Backspace show it with that step chosen, Enter opens one, all by the script's count",
  function()
    local steps = track('steps', { { 0, 40, 'step 7', 'step' }, { 40, 10, 'between steps', 'gap', 'idle' }, { 50, 50, 'step 8', 'step' } })
    steps.blocks.segment = { '0', '', '1' }
    local recording = { extent = { 0, 100 }, window = { 0, 100 }, tracks = { steps } }
    local level = {
      block = { duration = 50 },
      crumbs = {},
      window = { 0, 50 },
      extent = { 0, 50 },
      moreTracks = 0,
      tracks = { track('cpu', { { 0, 50, 'forward' } }) },
    }
    local overview = { profile = { id = 'p' }, steps = { { index = 7 }, { index = 8 } }, representative = 1 }
    local asked, shows = open_view(
      function(what) return ({ overview = overview, recording = recording, level = level, details = { places = {} } })[what] end
    )
    local function press(key) vim.api.nvim_feedkeys(vim.keycode(key), 'xt', false) end
    same(true, shows('step 8  50 ns'))
    press('<BS>')
    same(true, shows('recording  100 ns') and shows('▸ step 8 · step · 50 ns · 50.0 % of the recording · steps'))
    local _, before = unpack(asked[#asked])
    same({ 'recording', nil }, { asked[#asked][1], before.path })
    press('<BS>')
    same(true, shows('This is the whole recording: there is no level above it.'))
    press('h')
    press('h')
    same(true, shows('▸ step 7'))
    press('<CR>')
    same(true, shows('step 7  50 ns'))
    same(0, asked[#asked][2].step)
    press('o')
    same(true, shows('recording  100 ns') and shows('▸ step 7'))
    press('+')
    vim.wait(50)
    same({ 'recording', 0, 45 }, { asked[#asked][1], asked[#asked][2].from, asked[#asked][2].to })
    vim.api.nvim_buf_delete(0, { force = true })
  end
)

test('what is seen is added up, with what a list has no room for, and saved for Perfetto, of a step and of the recording', function()
  local window = require('hotlens.timeline_window')
  local uses = {}
  for index = 1, 6 do
    uses[index] = { short = 'k' .. index, calls = index, time = 1000 }
  end
  table.insert(uses, { short = 'k2', calls = 1, time = 1 }) -- of another tile
  local sums = { from = 1000, to = 11000, device = 5000, kernels = uses, moreKernels = { count = 3, time = 500 }, operators = {} }
  same({
    'Σ 10.0 µs, from 1.00 µs to 11.0 µs, the device busy for 5.00 µs (50 %)',
    '  kernels: k2 ×3 1.00 µs · k1 ×1 1.00 µs · k3 ×3 1.00 µs · k4 ×4 1.00 µs · 5 more 2.50 µs',
  }, window.lines(sums))
  local track_of = { track('steps', { { 0, 40, 'step 0', 'step' } }) }
  track_of[1].blocks.segment = { '0' }
  local level = {
    block = { duration = 50 },
    crumbs = {},
    window = { 0, 50 },
    extent = { 0, 50 },
    moreTracks = 0,
    tracks = { track('cpu', { { 0, 50, 'forward' } }) },
  }
  local answers = {
    overview = { profile = { id = 'p' }, steps = { { index = 0, wall = 50 } }, representative = 0 },
    level = level,
    details = { places = {} },
    range = sums,
    recording = { extent = { 0, 100 }, window = { 0, 100 }, tracks = track_of },
    export = { name = 'x.json', text = '{"traceEvents":[]}' },
  }
  local asked, shows = open_view(function(what) return answers[what] end)
  local path = vim.fn.tempname()
  local input = vim.ui.input
  vim.ui.input = function(options, answer) answer(options.default == 'x.json' and path or nil) end
  local function press(key) vim.api.nvim_feedkeys(key, 'xt', false) end
  same(true, shows('step 0  50 ns'))
  press('r')
  same(true, shows('Σ 10.0 µs'))
  same({ 'range', 0, 50, nil }, { asked[#asked][1], asked[#asked][2].from, asked[#asked][2].to, asked[#asked][2].recording })
  press('o')
  same(true, shows('recording  100 ns'))
  same(false, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('Σ', 1, true) ~= nil)
  press('p')
  same(true, shows('open it at ui.perfetto.dev'))
  same({ 'export', 0, 100, true }, { asked[#asked][1], asked[#asked][2].from, asked[#asked][2].to, asked[#asked][2].recording })
  same({ '{"traceEvents":[]}' }, vim.fn.readfile(path))
  vim.ui.input = input
  vim.fn.delete(path)
  vim.api.nvim_buf_delete(0, { force = true })
end)

test('what only another step has is followed into that step', function()
  local level = {
    block = { duration = 100 },
    crumbs = {},
    window = { 0, 100 },
    extent = { 0, 100 },
    moreTracks = 0,
    tracks = { track('cpu', { { 0, 100, 'rare' } }) },
  }
  local answers = {
    overview = { profile = { id = 'p' }, steps = { { index = 0 }, { index = 1 }, { index = 2 } }, representative = 0 },
    details = { places = {} },
  }
  local input = vim.ui.input
  vim.ui.input = function(_, answer) answer('rare') end
  local asked, shows = open_view(function(what, params)
    local match =
      { kind = 'operator', label = 'rare', step = params.step ~= 2 and 2 or nil, path = params.step == 2 and { 'forward', 'rare' } or nil }
    return answers[what] or what == 'search' and { matches = { match } } or level
  end)
  same(true, shows('step 0'))
  vim.api.nvim_feedkeys('/', 'xt', false)
  same(true, shows('step 2') and shows('1 of 1: rare'))
  vim.wait(20)
  vim.ui.input = input
  vim.api.nvim_buf_delete(0, { force = true })
  local searched = vim.tbl_filter(function(each) return each[1] == 'search' end, asked)
  same(2, searched[2][2].step)
  same({ 'details', 2 }, { asked[#asked][1], asked[#asked][2].step })
end)

test('an outlier says in its title what was different', function()
  local level = { block = { duration = 100 }, crumbs = {}, window = { 0, 100 }, extent = { 0, 100 }, moreTracks = 0, tracks = {} }
  local step = {
    index = 3,
    wall = 100,
    outlier = true,
    differences = { { what = 'bucket data_loading', excess = 40 }, { what = 'module layer_1.0', excess = -5 } },
  }
  same(
    'step 3  100 ns, an outlier: +40 ns in data loading, -5 ns in layer_1.0',
    text.picture({ levels = { level }, step = step, columns = 80, foot = {} }).lines[1]
  )
end)

test('panning moves the window, keeps its length, and ends where the level does', function()
  local level = { window = { 40, 60 }, extent = { 0, 100 } }
  same({ 36, 56 }, walk.panned(level, -0.2))
  same({ 80, 100 }, walk.panned(level, 9))
  same({ 0, 20 }, walk.panned(level, -9))
end)

test('a step is compared with the usual one, that one with the slowest, largest changes first', function()
  local comparing = require('hotlens.timeline_compare')
  local overview = { representative = 1, steps = { { wall = 9 }, { wall = 10 }, { wall = 30 } } }
  same({ 1, 2, 1 }, { comparing.other(overview, 0), comparing.other(overview, 1), comparing.other(overview, 2) })
  same(nil, comparing.other({ representative = 0, steps = { { wall = 9 } } }, 0))
  local rows = {
    { label = 'data', kind = 'stage', change = 'slower', before = 1000, after = 2500 },
    { module = 'conv1', change = 'faster', before = 20000, after = 10000 },
    { module = '', class = 'Net', change = 'same', before = 10, after = 11 },
    { label = 'zero_grad', kind = 'stage', change = 'added', after = 300 },
  }
  same({
    'step 12 against step 10: 31.0 µs → 22.8 µs, -8.20 µs (-26 %)',
    '  ▼ -10.0 µs (-50 %)  conv1: 20.0 µs → 10.0 µs',
    '  ▲ +1.50 µs (+150 %)  data: 1.00 µs → 2.50 µs',
    '  + +300 ns  zero grad: 0 ns → 300 ns',
    '  1 other is within the noise of the steps',
  }, comparing.lines({ rows = rows, before = { stepNs = 31000 }, after = { stepNs = 22800 } }, 10, 12))
  same(
    '  all is within the noise of the steps',
    comparing.lines({ rows = { rows[3] }, before = { stepNs = 31000 }, after = { stepNs = 22800 } }, 1, 2)[2]
  )
end)

test('c compares the step that is shown, a and d pan what is zoomed', function()
  local level = {
    block = { duration = 100 },
    crumbs = {},
    window = { 40, 60 },
    extent = { 0, 100 },
    moreTracks = 0,
    tracks = { track('cpu', { { 0, 100, 'forward' } }) },
  }
  local overview = { profile = { id = 'p' }, steps = { { index = 5, wall = 100 }, { index = 6, wall = 90 } }, representative = 0 }
  local compared = { rows = {}, before = { stepNs = 90 }, after = { stepNs = 100 } }
  local asked, shows = open_view(
    function(what) return ({ overview = overview, level = level, details = { places = {} }, compare = compared })[what] end
  )
  local function press(key) vim.api.nvim_feedkeys(key, 'xt', false) end
  same(true, shows('step 5'))
  press('c')
  same(true, shows('step 5 against step 6: 90 ns → 100 ns, +10 ns (+11 %)'))
  same({ 'compare', 'p', 1, 0 }, { asked[#asked][1], asked[#asked][2].before, asked[#asked][2].beforeStep, asked[#asked][2].afterStep })
  press('d')
  same(true, shows('zoom in with + first'))
  press('+')
  vim.wait(50)
  press('d')
  same(true, vim.wait(2000, function() return asked[#asked - 1][2].from == 44 and asked[#asked - 1][2].to == 64 end, 5))
  press('o')
  same(true, shows('recording'))
  press('c')
  same(true, shows('open it first'))
  vim.api.nvim_buf_delete(0, { force = true })
end)

print(('%d passed, %d failed'):format(passed, failed))
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
