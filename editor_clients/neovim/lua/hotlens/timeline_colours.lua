-- The colours of the text view: a highlight group for each class of marks (protocol/TIMELINE.md, "text").
local M = {}

local GROUPS = {
  data = 'HotlensData',
  copy = 'HotlensCopy',
  zero_grad = 'HotlensZeroGrad',
  forward = 'HotlensForward',
  loss = 'HotlensLoss',
  backward = 'HotlensBackward',
  optimizer = 'HotlensOptimizer',
  evaluation = 'HotlensForward',
  communication = 'HotlensCommunication',
  waiting = 'HotlensWaiting',
  earlier_step = 'HotlensWaiting',
  idle = 'HotlensIdle',
  selected = 'HotlensSelected',
  title = 'HotlensTitle',
  dim = 'HotlensDim',
}

-- The colours of the page, with text that reads on them.
local COLOURS = {
  HotlensData = { bg = '#8c9a9b', fg = '#101214' },
  HotlensCopy = { bg = '#c2b280', fg = '#101214' },
  HotlensZeroGrad = { bg = '#5b6f94', fg = '#ffffff' },
  HotlensForward = { bg = '#4e9de0', fg = '#101214' },
  HotlensLoss = { bg = '#2fc4a7', fg = '#101214' },
  HotlensBackward = { bg = '#8158c0', fg = '#ffffff' },
  HotlensOptimizer = { bg = '#e0a638', fg = '#101214' },
  HotlensCommunication = { bg = '#e0605e', fg = '#101214' },
  HotlensOther = { bg = '#8b8b8b', fg = '#101214' },
}
local LINKS =
  { HotlensWaiting = 'Comment', HotlensIdle = 'NonText', HotlensSelected = 'Visual', HotlensTitle = 'Title', HotlensDim = 'Comment' }

---@param class string
function M.group(class) return GROUPS[class] or 'HotlensOther' end

function M.define_groups()
  for name, colour in pairs(COLOURS) do
    vim.api.nvim_set_hl(0, name, { bg = colour.bg, fg = colour.fg, default = true })
  end
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
