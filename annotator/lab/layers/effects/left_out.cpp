#include "annotator/lab/layers/effects/left_out.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "annotator/lab/layers/effects/statement_pairs.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

std::size_t uses_of(Node code, std::string_view name) {
  std::size_t count = 0;
  for_each_name(code, name, [&](Node) { ++count; });
  return count;
}

// `f(y=x)`: the name of a parameter.
bool names_parameter(Node code, std::string_view name) {
  bool found = false;
  for_each_name(code, name,
                [&](Node one) { found = found || (one.parent().is("keyword_argument") && one.parent().field("name").id() == one.id()); });
  return found;
}

// Of `y = self.layer(x)`: `x`. Null: it is no such call.
Node only_name_taken(Node call) {
  Node found;
  for (const Node& given : call.field("arguments").children()) {
    if (!given.is("identifier")) continue;
    if (found) return {};
    found = given;
  }
  return found;
}

// By a name of the executed function: the one that stands for it.
std::map<std::string, std::string> left_out(Node was, Node is) {
  std::map<std::string, std::string> names;
  const auto statements = was.field("body").children();
  for (std::size_t at = 0; at < statements.size(); ++at) {
    const Node given = assignment_of(statements[at]), name = given.field("left"), call = given.field("right");
    const bool plain = given.is("assignment") && name.is("identifier") && call.is("call") && !names_parameter(was, name.text());
    const Node taken = plain ? only_name_taken(call) : Node{};
    if (!taken || uses_of(is, name.text()) > 0 || uses_of(was, taken.text()) == 0) continue;
    const auto known = names.find(std::string(taken.text()));
    const std::string root = known == names.end() ? std::string(taken.text()) : known->second;
    bool again = uses_of(is, root) == 0;
    std::size_t later = 0;
    for (std::size_t after = at + 1; after < statements.size(); ++after) {
      again = again || uses_of(statements[after], taken.text()) > 0 || assignment_of(statements[after]).field("left").text() == name.text();
      later += uses_of(statements[after], name.text());
    }
    if (!again && later > 0 && later + 1 == uses_of(was, name.text())) names.emplace(name.text(), root);
  }
  return names;
}

}  // namespace

Sources with_names_of_arguments(const Sources& executed, const Sources& edited) {
  Sources all = executed;
  const auto wanted = [&](const std::filesystem::path& path) {
    const auto was = executed.files.find(path), is = edited.files.find(path);
    return was != executed.files.end() && is != edited.files.end() && was->second != is->second && !edited.packages.contains(path);
  };
  const Functions was = functions_of(executed.files, wanted), is = functions_of(edited.files, wanted);
  Pieces spans;
  for (const auto& [key, function] : was) {
    const auto now = is.find(key);
    if (now == is.end() || same_wording(function, now->second)) continue;
    for (const auto& [name, root] : left_out(function, now->second))
      for_each_name(function, name, [&](Node one) { spans[one.code][span_of(one)] = root; });
  }
  replace_in(all.files, spans);
  return all;
}

}  // namespace hotlens::layers
