#include "annotator/report/loop_text.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/profile/loop.h"
#include "annotator/profile/place_name.h"
#include "annotator/profile/source_text.h"

namespace hotlens::report {
namespace {

using format::harmless;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;
using profile::Loop;
using profile::LoopFunction;
using profile::LoopStatement;

constexpr std::size_t kPlaceColumns = 20;
constexpr std::size_t kQuoteColumns = 44;
constexpr std::size_t kFunctions = 5;    // beside the one that holds the loop
constexpr std::int64_t kSmallest = 100;  // one part in so many has a row of its own
constexpr std::size_t kCostliest = 5;    // rows of a summary

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The lines of the profile's files, each read once.
class Quotes {
 public:
  explicit Quotes(const profile::Profile& profile) : profile_(profile) {}

  std::string operator()(const profile::Site& site) { return shortened(line(site), kQuoteColumns - 2); }

  // From the statement on: others may stand before it. Lives as long as this.
  std::string_view line(const profile::Site& site) {
    const auto [known, added] = texts_.try_emplace(site.file.index);
    if (added) known->second = profile::executed_text(profile_, site.file).value_or("");
    const std::vector<std::string_view> lines = lines_of(known->second);
    if (site.line >= lines.size()) return "";
    std::string_view line = lines[site.line];
    line.remove_prefix(std::min<std::size_t>(site.column.value_or(0), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }

 private:
  const profile::Profile& profile_;
  std::map<std::uint32_t, std::string> texts_;
};

// No work that is still to come.
bool leaves_the_loop(std::string_view line) {
  constexpr std::array<std::string_view, 4> kWords = {"break", "raise", "return", "continue"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return line.starts_with(word); });
}

class LoopWriter {
 public:
  LoopWriter(const profile::Profile& profile, const format::Style& style)
      : profile_(profile), loop_(*profile.loop), style_(style), functions_(functions(loop_)), quote_(profile) {}

  std::string write() && {
    updates();
    startup();
    return std::move(out_);
  }

  // A line that takes much and only leads to the lines of a function gives way to them.
  std::string write_costliest() && {
    if (functions_.empty()) return "";
    std::vector<const LoopFunction*> left;
    for (const LoopFunction& of : functions_) {
      if (of.total < functions_.front().total) left.push_back(&of);  // the others call the loop
    }
    std::vector<const LoopStatement*> statements = functions_.front().statements;
    const auto add = [&](std::size_t at) {
      statements.insert(statements.end(), left[at]->statements.begin(), left[at]->statements.end());
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (std::size_t at = 0; at < statements.size(); ++at) {
      const std::size_t to = where_it_leads(*statements[at], left);
      if (to == left.size()) continue;
      statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(at--));
      add(to);
    }
    // One statement with practically everything in it leads to the loop of a package, which calls the others.
    const auto most = std::ranges::max_element(statements, {}, &LoopStatement::total);
    if (most != statements.end() && (*most)->total * 10 > loop_.watched * 9) {
      while (!left.empty()) add(0);
    }
    std::ranges::stable_sort(statements, std::ranges::greater{}, &LoopStatement::total);
    if (statements.size() > kCostliest) statements.resize(kCostliest);
    for (const LoopStatement* each : statements) {
      if (each->total * kSmallest < loop_.watched) break;
      line(row(*each, per_update(loop_, each->total), each->total, loop_.watched) + how_often(*each));
    }
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.append(text).append("\n"); }
  void title(const std::string& text) { out_.append("\n").append(style_.bold).append(text).append(style_.off).append("\n"); }

  std::string place(const profile::Site& site) const {
    const profile::SourceFile& file = profile_.files.at(site.file.index);
    return profile::place_name(harmless(file.path.filename().string()), file, site.line);
  }

  std::string row(const LoopStatement& statement, Ns shown, Ns part, Ns whole) {
    return "  " + left(place(statement.site) + " ", kPlaceColumns) + left(quote_(statement.site), kQuoteColumns) +
           right(readable(shown), 10) + right(percent(part, whole), 9);
  }

  std::string rest(const std::string& text, Ns shown, Ns part, Ns whole) const {
    return "  " + left(text, kPlaceColumns + kQuoteColumns) + right(readable(shown), 10) + right(percent(part, whole), 9);
  }

  // Of the functions the one that the statement calls and that has nearly all of its time; their number where none is.
  std::size_t where_it_leads(const LoopStatement& statement, const std::vector<const LoopFunction*>& functions) {
    if (statement.total * 3 < loop_.watched) return functions.size();
    const auto found = std::ranges::find_if(functions, [&](const LoopFunction* of) {
      const bool holds = of->total <= statement.total && of->total * 10 >= statement.total * 9;
      return holds && profile::is_called_in(quote_.line(statement.site), profile::called_name(of->function));
    });
    return static_cast<std::size_t>(found - functions.begin());
  }

  // "  every 12 updates, 30.4 ms each time"
  std::string how_often(const LoopStatement& statement) const {
    if (!is_rare(loop_, statement)) return "";
    const std::optional<Ns> time = time_when_it_comes(statement);
    const std::string each = time ? ", " + readable(*time) + " each time" : "";
    const std::optional<double> every = rhythm(statement);
    if (!every)
      return "   in " + std::to_string(statement.in_updates) + " of " + std::to_string(counted_of(loop_, statement)) + " updates" + each;
    const auto tenths = static_cast<std::int64_t>(*every * 10 + 0.5);
    std::string number = std::to_string(tenths / 10);
    if (tenths % 10 != 0) number += "." + std::to_string(tenths % 10);
    return "   every " + number + " updates" + each;
  }

  // The rows of one function, longest first; what is small is one row, so that nothing is missing.
  void rows(const LoopFunction& of, Ns LoopStatement::* time, Ns whole, std::int64_t divisor) {
    std::vector<const LoopStatement*> statements = of.statements;
    std::ranges::stable_sort(statements, std::ranges::greater{}, [&](const LoopStatement* each) { return each->*time; });
    std::size_t small = 0;
    Ns others{};
    for (const LoopStatement* each : statements) {
      const Ns part = each->*time;
      if (part * kSmallest < whole) {
        small += part > Ns{} ? 1 : 0;
        others += part;
        continue;
      }
      line(row(*each, part / divisor, part, whole) + (time == &LoopStatement::total ? how_often(*each) : ""));
    }
    if (small > 0) line(rest(std::to_string(small) + " shorter", others / divisor, others, whole));
  }

  void updates() {
    const profile::Update update = mean_update(loop_);
    const std::string parts = is_negligible(update) ? "" : " (" + spelled(update) + ")";
    title("The loop, without the profiler: " + readable(per_update(loop_, loop_.watched)) + " an update" + parts + ", mean of " +
          std::to_string(loop_.updates));
    if (const auto others = share_of_others(loop_)) {
      line("the machine was busy: other programs had " + format::share(*others) + " of its processors, so times are longer than alone");
    }
    if (loop_.slow_first) {
      line("left out: the first update watched, " + readable(*loop_.slow_first) + ", with no work that those behind it did not have");
    }
    if (functions_.empty()) return;
    const LoopFunction& main = functions_.front();
    rows(main, &LoopStatement::total, loop_.watched, loop_.updates);
    if (loop_.behind > Ns{})
      line(rest("the host is done, the device is not", per_update(loop_, loop_.behind), loop_.behind, loop_.watched));
    const Ns elsewhere = loop_.watched - std::min(main.total + loop_.behind, loop_.watched);
    if (elsewhere * (kSmallest * 10) >= loop_.watched) {
      line(rest("outside these lines", per_update(loop_, elsewhere), elsewhere, loop_.watched));
    }
    unseen(main);
    for (const profile::UnusedGraph& graph : loop_.unused_graphs)
      line("  " + left(place(graph.site) + " ", kPlaceColumns) + spelled(graph));
    std::size_t shown = 0;
    for (const LoopFunction& of : functions_) {
      if (&of == &main || of.total >= main.total || of.total * kSmallest < loop_.watched || shown++ == kFunctions) continue;
      line(rest("of it in " + shortened(of.function), per_update(loop_, of.total), of.total, loop_.watched));
      rows(of, &LoopStatement::total, loop_.watched, loop_.updates);
    }
  }

  // Statements of the loop that no update ran: an evaluation that comes later. What stands before or behind it in its function is none.
  void unseen(const LoopFunction& main) {
    std::string places;
    const bool holds_the_loop = std::ranges::any_of(main.statements, &LoopStatement::in_loop);
    for (const LoopStatement* each : main.statements) {
      if (holds_the_loop && !each->in_loop) continue;
      if (each->calls > 0 || each->total > Ns{} || each->startup_calls > 0 || leaves_the_loop(quote_(each->site))) continue;
      places += (places.empty() ? "" : ", ") + place(each->site);
    }
    if (!places.empty()) line("  not run in these updates: " + places + "; `hotlens run --steps N` with a larger N watches longer");
  }

  void startup() {
    if (loop_.startup <= Ns{}) return;
    title("Start-up: " + readable(loop_.startup) + " until the first update was complete");
    const auto most = std::ranges::max_element(functions_, {}, &LoopFunction::startup);
    if (most != functions_.end()) rows(*most, &LoopStatement::startup, loop_.startup, 1);
  }

  const profile::Profile& profile_;
  const Loop& loop_;
  const format::Style& style_;
  std::vector<LoopFunction> functions_;
  Quotes quote_;
  std::string out_;
};

}  // namespace

std::string loop_text(const profile::Profile& profile, const format::Style& style) {
  return profile.loop ? LoopWriter(profile, style).write() : "";
}

std::string costliest_lines(const profile::Profile& profile) {
  return profile.loop ? LoopWriter(profile, format::style(false)).write_costliest() : "";
}

}  // namespace hotlens::report
