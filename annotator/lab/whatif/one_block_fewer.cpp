// A row of equal blocks, as a transformer's layers, with one block fewer: its operators, its parameters and their updates are gone, and
// what went into it goes on to the next. How wide a model is cannot be changed so: no recording tells which of its numbers are that width.
#include <algorithm>
#include <map>

#include "annotator/lab/structure/calls.h"
#include "annotator/lab/structure/structure.h"
#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

struct Row {
  std::string holder, class_name;
  std::vector<std::string> blocks;  // paths, in order
};

bool is_number(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

bool has_layers(const Program& program, const std::string& path) {
  return std::ranges::any_of(program.modules, [&](const std::string& one) { return one.starts_with(path + "."); });
}

// Entries of one container that are of one class and have layers of their own, two and more; the outermost first, of these the longest.
std::vector<Row> rows_of(const Program& program) {
  std::map<std::pair<std::string, std::string>, Row> found;
  for (std::size_t module = 0; module < program.modules.size(); ++module) {
    const std::string &path = program.modules[module], &name = program.classes[module];
    auto [holder, entry] = split_name(path);
    if (!is_number(entry) || name.empty() || !has_layers(program, path)) continue;
    Row& row = found[{holder, name}];
    row = {.holder = std::move(holder), .class_name = name, .blocks = std::move(row.blocks)};
    row.blocks.push_back(path);
  }
  std::vector<Row> rows;
  for (auto& [key, row] : found) {
    if (row.blocks.size() > 1) rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    const auto depth = [](const Row& row) { return std::ranges::count(row.blocks.front(), '.'); };
    return depth(a) != depth(b) ? depth(a) < depth(b) : a.blocks.size() > b.blocks.size();
  });
  return rows;
}

// Empty: what it gives can be left out, since what it takes has the same shape.
std::string why_not(const Program& program, const Draft& draft, const std::string& path) {
  const std::vector<Call> calls = calls_of(program, path);
  if (calls.size() != 1) return calls.empty() ? "it is not called in the step" : "it is called more than once in a step";
  const auto through_it = through(draft, calls.front());
  if (!through_it) return "it " + through_it.error();
  const auto* in = shape_of(draft, through_it->in, calls.front().begin);
  const auto* out = shape_of(draft, through_it->out, calls.front().end);
  const bool same = in != nullptr && out != nullptr && *in == *out;
  return same ? "" : "what goes into it has another shape than what comes out";
}

}  // namespace

Edited one_block_fewer(Program program) {
  const std::vector<Row> rows = rows_of(program);
  if (rows.empty()) return std::unexpected(NotHere{.reason = "no container of the model has two equal blocks"});
  const Draft draft(program);
  std::optional<NotHere> first;
  for (const Row& row : rows) {
    for (std::size_t at = row.blocks.size(); at-- > 0;) {
      const std::string& path = row.blocks[at];
      if (std::string reason = why_not(program, draft, path); !reason.empty()) {
        if (!first) first = NotHere{.reason = std::move(reason), .op = {}, .module = path};
        continue;
      }
      layers::Changes changes;
      changes.alignment.gaps.push_back(
          {.holder = row.holder, .sequence = true, .removed = {{.path = path}}, .inserted = {}, .before = {}, .after = {}});
      auto made = layers::restructure(std::move(program), changes);
      if (!made) return std::unexpected(NotHere{.reason = made.error().reason, .op = made.error().op, .module = made.error().module});
      return Edit{.program = std::move(made->program),
                  .evidence = counted(static_cast<std::int64_t>(row.blocks.size()), row.class_name, row.class_name) + " in " +
                              (row.holder.empty() ? "the model" : row.holder),
                  .modules = {path}};
    }
  }
  return std::unexpected(*first);
}

}  // namespace hotlens::lab
