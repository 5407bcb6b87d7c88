// `loss = f(model(x), y); loss.backward()` in a loop over batches → the same of each half of the batch, whose gradients add up before one
// update. Each half counts by its share of the batch, so that the sum is the mean over all of it, whatever its size.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/loaders.h"
#include "annotator/advice/edits/losses.h"
#include "annotator/advice/edits/time_loops.h"

namespace hotlens::advice {
namespace {

using Names = std::set<std::string_view>;

// Change where a batch lies and of what type it is, not which samples it holds.
constexpr auto kMoves = std::to_array<std::string_view>({"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "long"});

bool is_assigned(TSNode name) {
  TSNode node = name, parent = ts_node_parent(node);
  while (type(parent) == "pattern_list" || type(parent) == "tuple_pattern" || type(parent) == "list_pattern") {
    node = parent;
    parent = ts_node_parent(node);
  }
  const std::string_view kind = type(parent);
  const bool sets = kind == "assignment" || kind == "augmented_assignment" || kind == "for_statement" || kind == "named_expression";
  if (kind == "as_pattern_target") return true;
  return sets && (ts_node_eq(field(parent, "left"), node) || ts_node_eq(field(parent, "name"), node));
}

// In the order of the text.
template <class Each>
void each_variable(const PythonText& text, TSNode node, const Each& each) {
  each_node(node, [&](TSNode one) {
    if (is_variable(one)) each(one, text.at(one));
  });
}

// `loss` of `loss.backward()`; empty where a statement is something else.
std::string_view goes_backward(const PythonText& text, TSNode statement) {
  const TSNode call = ts_node_named_child_count(statement) == 1 ? ts_node_named_child(statement, 0) : statement;
  if (type(statement) != "expression_statement" || type(call) != "call" || type(field(call, "function")) != "attribute") return {};
  const TSNode function = field(call, "function"), object = field(function, "object");
  const bool plain = type(object) == "identifier" && ts_node_named_child_count(field(call, "arguments")) == 0;
  return plain && text.at(field(function, "attribute")) == "backward" ? text.at(object) : std::string_view();
}

bool zeroes_gradients(const PythonText& text, TSNode statement) {
  const TSNode call = ts_node_named_child_count(statement) == 1 ? ts_node_named_child(statement, 0) : statement;
  return type(statement) == "expression_statement" && type(call) == "call" && text.at(field(call, "function")).ends_with(".zero_grad");
}

// `left = right` of a statement that is nothing else; null where it is something else.
TSNode assignment(TSNode statement) {
  const TSNode child = ts_node_named_child_count(statement) == 1 ? ts_node_named_child(statement, 0) : TSNode{};
  const bool plain = type(statement) == "expression_statement" && !ts_node_is_null(child) && type(child) == "assignment";
  return plain && !ts_node_is_null(field(child, "right")) ? child : TSNode{};
}

class Halves {
 public:
  Halves(const Script& script, std::size_t file, const Span& forward)
      : script_(script), file_(file), text_(script.texts()[file]), forward_(forward) {}

  Made edit() && {
    for (const auto look : {&Halves::find_pass, &Halves::look_at_loss, &Halves::find_batch, &Halves::look_around}) {
      if (std::string why = (this->*look)(); !why.empty()) return no(std::move(why));
    }
    return Edits{{file_, replacements()}};
  }

 private:
  std::string at(TSNode node) const { return script_.place(file_, span(node).begin); }

  bool is_alone(TSNode first, TSNode last) const {
    return is_blank(script_.indentation(file_, span(first).begin)) && !shares_end(text_.text(), span(last).end);
  }

  // The loop, what of it becomes that of a half, and its backward pass.
  std::string find_pass() {
    TSNode node = ts_node_descendant_for_byte_range(text_.root(), forward_.begin, forward_.begin);
    while (!ts_node_is_null(node) && (ts_node_is_null(ts_node_parent(node)) || type(ts_node_parent(node)) != "block")) {
      node = ts_node_parent(node);
    }
    if (ts_node_is_null(node) || type(ts_node_parent(ts_node_parent(node))) != "for_statement")
      return "the model's call is no statement of a loop over batches";
    loop_ = ts_node_parent(ts_node_parent(node));
    for (; !ts_node_is_null(node) && goes_backward(text_, node).empty(); node = ts_node_next_named_sibling(node)) {
      if (type(node) == "comment") continue;
      if (ts_node_is_null(assignment(node)) && !zeroes_gradients(text_, node))
        return fmt::format("between the model's call and the backward pass something else is done than assigned, at {}", at(node));
      if (zeroes_gradients(text_, node) && !is_alone(node, node))
        return fmt::format("another statement stands on the line of zero_grad(), at {}", at(node));
      inside_.push_back(node);
    }
    if (ts_node_is_null(node) || inside_.empty()) return "no `loss.backward()` follows the model's call in the same block";
    backward_ = node;
    loss_ = goes_backward(text_, node);
    return is_alone(inside_[0], backward_) ? "" : "another statement stands on the line of the model's call or of the backward pass";
  }

  std::string look_at_loss() {
    const TSNode last = assignment(inside_.back()), before = inside_.size() > 1 ? assignment(inside_[inside_.size() - 2]) : TSNode{};
    const TSNode set = ts_node_is_null(last) ? before : last;  // zero_grad() may stand behind it
    if (ts_node_is_null(set) || text_.at(field(set, "left")) != loss_)
      return fmt::format("`{}` is not what is computed right before its backward pass", loss_);
    const Span right = span(field(set, "right"));
    const auto call = std::ranges::find(text_.calls(), right, &Call::whole);
    if (call == text_.calls().end()) return fmt::format("`{}` is no single call of a loss of torch", loss_);
    if (is_mean_loss(text_, *call)) return {};
    return fmt::format("it is not certain that `{}` is the mean over the samples, each of which counts alike", text_.at(call->callee));
  }

  // The names that the loop gives a batch: whole tensors, samples first, as a DataLoader makes them where nobody tells it how.
  std::string find_batch() {
    const std::vector<Found> loaders = data_loaders(script_);
    if (loaders.empty()) return "none of the files that ran makes a torch.utils.data.DataLoader";
    for (const Found& one : loaders) {
      const Argument* size = given(*one.call, {.name = "batch_size", .off = {}, .position = 1});
      const bool own = given(*one.call, {.name = "collate_fn", .off = {}, .position = 6}) != nullptr || one.call->spreads();
      if (own || (size != nullptr && size->kind == "none"))
        return "a DataLoader makes its batches in a way of its own, at " + script_.places({one});
    }
    TSNode names = field(loop_, "left"), source = field(loop_, "right");
    if (type(source) == "call" && text_.at(field(source, "function")) == "enumerate" && ts_node_named_child_count(names) == 2) {
      names = ts_node_named_child(names, 1);
      source = ts_node_named_child(field(source, "arguments"), 0);
    }
    if (!is_loader(loaders, source)) return fmt::format("it is not certain that the loop's `{}` is a DataLoader", text_.at(source));
    if (type(names) == "identifier") {
      unpacked_ = unpacking(text_.at(names));
      names = ts_node_is_null(unpacked_) ? names : unpacked_;
    }
    each_node(names, [&](TSNode node) {
      if (type(node) == "identifier") batch_.insert(text_.at(node));
    });
    return {};
  }

  // `x, y` of `x, y = batch` in the loop.
  TSNode unpacking(std::string_view batch) const {
    TSNode found{};
    each_child(field(loop_, "body"), [&](TSNode statement) {
      const TSNode set = assignment(statement);
      const bool unpacks = !ts_node_is_null(set) && type(field(set, "left")) == "pattern_list" && text_.at(field(set, "right")) == batch;
      if (unpacks && ts_node_is_null(found)) found = field(set, "left");
    });
    return found;
  }

  // One that is made here, or has a name that one is made by, or comes into the function as an argument.
  bool is_loader(const std::vector<Found>& loaders, TSNode source) const {
    const std::string_view written = text_.at(source);
    const auto is = [&](const Found& one) {
      return span(source) == one.call->whole || target_of(script_.texts()[one.file], *one.call) == written;
    };
    const TSNode function = around(loop_, "function_definition");
    const std::string_view given = ts_node_is_null(function) ? "" : text_.at(field(function, "parameters"));
    return std::ranges::any_of(loaders, is) || (type(source) == "identifier" && written.contains("loader") && has_word(given, written));
  }

  bool is_inside(TSNode node) const { return span(node).begin >= span(inside_[0]).begin && span(node).end <= span(backward_).end; }

  // `x` in `x = x.to(device)`, also of several at once.
  bool moves_only(TSNode name) const {
    if (!ts_node_is_null(unpacked_) && ts_node_eq(ts_node_parent(name), unpacked_)) return true;
    TSNode set = ts_node_parent(name), value = field(set, "right");
    if (type(set) == "pattern_list") {
      std::uint32_t place = 0;
      while (!ts_node_eq(ts_node_named_child(set, place), name)) ++place;
      const TSNode all = field(ts_node_parent(set), "right");
      if (ts_node_is_null(all) || type(all) != "expression_list" || ts_node_named_child_count(all) != ts_node_named_child_count(set))
        return false;
      value = ts_node_named_child(all, place);
      set = ts_node_parent(set);
    }
    const bool calls = type(set) == "assignment" && !ts_node_is_null(value) && type(value) == "call";
    if (!calls || type(field(value, "function")) != "attribute") return false;
    const TSNode function = field(value, "function");
    return text_.at(field(function, "object")) == text_.at(name) &&
           std::ranges::find(kMoves, text_.at(field(function, "attribute"))) != kMoves.end();
  }

  // What a half would be without, or with too much of.
  std::string look_around() {
    std::string why;
    Names made, elsewhere, read;
    const auto wrong = [&](std::string reason) { why = why.empty() ? std::move(reason) : why; };
    each_variable(text_, field(loop_, "body"), [&](TSNode node, std::string_view name) {
      const bool set = is_assigned(node), part = is_inside(node);
      if (part && set) made.insert(name);
      if (part && !set) read.insert(name);
      if (!part && set && !batch_.contains(name)) elsewhere.insert(name);
      if (batch_.contains(name) && set && (part || !moves_only(node)))
        wrong(fmt::format("`{}` becomes something else in the loop, at {}", name, at(node)));
      if (batch_.contains(name) && part && type(ts_node_parent(node)) == "subscript" &&
          ts_node_eq(field(ts_node_parent(node), "value"), node))
        wrong(fmt::format("parts of `{}` are taken, at {}", name, at(node)));
    });
    for (const std::string_view name : elsewhere) {
      if (read.contains(name) && !made.contains(name)) wrong(fmt::format("`{}` is made for the whole batch, in the same loop", name));
    }
    std::erase_if(batch_, [&](std::string_view name) { return !read.contains(name); });
    if (batch_.empty()) wrong("nothing that the loop gets from its loader is used in the forward pass");
    const TSNode function = around(loop_, "function_definition");
    each_variable(text_, ts_node_is_null(function) ? text_.root() : function, [&](TSNode node, std::string_view name) {
      if (is_inside(node) || !made.contains(name)) return;
      if (name == loss_) loss_is_read_ = true;
      if (name != loss_) wrong(fmt::format("`{}` is used again, at {}, and would be that of one half", name, at(node)));
    });
    return why;
  }

  std::string half(std::string_view name) const { return fresh_name(text_, std::string(name) + "_half"); }

  std::vector<Replacement> replacements() const {
    std::vector<Replacement> all;
    const std::string_view ends = line_end(text_.text());
    const std::uint32_t begin = span(inside_[0]).begin, end = span(backward_).end;
    const std::string indentation = script_.indentation(file_, begin), deeper = indentation.contains('\t') ? "\t" : "    ";
    std::vector<std::string> halves, chunks;
    for (const std::string_view name : batch_) {
      halves.push_back(half(name));
      chunks.push_back(fmt::format("{}.chunk(2)", name));
    }
    const std::string parts = fresh_name(text_, std::string(loss_) + "_parts");
    std::string before;
    for (const TSNode one : inside_) {
      if (zeroes_gradients(text_, one)) before += fmt::format("{}{}{}", text_.at(one), ends, indentation);
    }
    if (loss_is_read_) before += fmt::format("{} = []{}{}", parts, ends, indentation);
    const std::string all_halves = fmt::format("{}", fmt::join(halves, ", ")), all_chunks = fmt::format("{}", fmt::join(chunks, ", "));
    before += fmt::format("for {} in {}:{}{}{}", all_halves, chunks.size() == 1 ? all_chunks : "zip(" + all_chunks + ")", ends, indentation,
                          deeper);
    all.push_back({{begin, begin}, before});
    const std::string weight = fmt::format("len({}) / len({})", halves.front(), *batch_.begin());
    for (const TSNode one : inside_) {
      if (!zeroes_gradients(text_, one)) rename(one, all);
    }
    const TSNode object = field(field(ts_node_named_child(backward_, 0), "function"), "object");
    all.push_back({span(object), fmt::format("({} * ({}))", loss_, weight)});
    for (std::uint32_t at = begin; at < end; ++at) {
      const bool starts = text_.text()[at] == '\n' && text_.text()[at + 1] != '\n' && text_.text()[at + 1] != '\r';
      if (starts && !text_.in_string(at + 1)) all.push_back({{at + 1, at + 1}, deeper});
    }
    remove_moved(all);
    if (loss_is_read_) {
      all.push_back(
          {{end, end},
           fmt::format("{0}{1}{2}{3}.append({4}.detach() * ({5})){0}{1}{4} = sum({3})", ends, indentation, deeper, parts, loss_, weight)});
    }
    std::ranges::stable_sort(all, {}, [](const Replacement& one) { return one.span.begin; });
    return all;
  }

  void rename(TSNode statement, std::vector<Replacement>& all) const {
    each_variable(text_, statement, [&](TSNode node, std::string_view name) {
      if (batch_.contains(name)) all.push_back({span(node), half(name)});
    });
  }

  // zero_grad() stands before the halves now: its lines go.
  void remove_moved(std::vector<Replacement>& all) const {
    for (const TSNode one : inside_) {
      if (!zeroes_gradients(text_, one)) continue;
      const std::string& text = text_.text();
      const auto line = static_cast<std::uint32_t>(text.rfind('\n', span(one).begin) + 1);
      const auto next = static_cast<std::uint32_t>(text.find('\n', span(one).end) + 1);
      std::erase_if(all, [&](const Replacement& each) { return each.span.begin >= line && each.span.begin < next; });
      all.push_back({{line, next}, ""});
    }
  }

  const Script& script_;
  std::size_t file_;
  const PythonText& text_;
  Span forward_;
  TSNode loop_{}, backward_{}, unpacked_{};
  std::vector<TSNode> inside_;  // statements, in order
  std::string_view loss_;
  Names batch_;  // by name: the halves of all are as long
  bool loss_is_read_ = false;
};

}  // namespace

Made accumulate(const Script& script) {
  const auto forward = script.stage(attribution::Stage::forward);
  if (!forward) return no("it is not known where the loop calls the model");
  return Halves(script, forward->first, forward->second).edit();
}

}  // namespace hotlens::advice
