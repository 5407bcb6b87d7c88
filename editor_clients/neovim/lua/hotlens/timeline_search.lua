-- The search of the text view: matches one after the other, also those that only another step has.
local M = {}

local words = require('hotlens.timeline_words')

---@class hotlens.SearchedView
---@field request fun(method: string, params: table, done: fun(answer: table))
---@field say fun(note: string)
---@field go fun(path: string[], step: integer?, note: string)  shows a block

--- What `/`, `n` and `N` do.
---@param view hotlens.SearchedView
function M.actions(view)
  local matches, at = {}, 0

  local function go(match, path, step) view.go(path, step, ('%d of %d: %s'):format(at, #matches, match.label)) end

  -- What only another step has: where it is there is known to a search in that step.
  local function go_to_step(match)
    view.request('search', { query = match.label, step = match.step }, function(answer)
      for _, there in ipairs(answer.matches) do
        if there.kind == match.kind and there.label == match.label and there.path then return go(match, there.path, match.step) end
      end
      view.say(('%s: not a block of that step'):format(words.clean(match.label)))
    end)
  end

  local function follow(position)
    local match = matches[position]
    at = position
    if match.path and #match.path > 0 then return go(match, match.path) end
    if match.step then return go_to_step(match) end
    view.say(('%s: not a block of this step'):format(words.clean(match.label)))
  end

  local function next_match(by)
    if #matches == 0 then return view.say('Nothing was searched for yet: press / first.') end
    follow((at - 1 + by) % #matches + 1)
  end

  local function search()
    vim.ui.input({ prompt = 'Search all steps: ' }, function(query)
      if not query or query == '' then return end
      view.request('search', { query = query, limit = 50 }, function(answer)
        matches = answer.matches
        if #matches == 0 then return view.say(('Nothing in any step is named %s.'):format(query)) end
        follow(1)
      end)
    end)
  end

  return { search = search, next_match = function() next_match(1) end, previous_match = function() next_match(-1) end }
end

return M
