// Random edit scripts over real files, checked against what became of every statement.
//
// HOTLENS_TEST_SEQUENCES sets how many, HOTLENS_TEST_SEED repeats a run; HOTLENS_TEST_FILE keeps to files with that in their path.
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/anchors.h"
#include "annotator/source/outline/normal_form.h"
#include "annotator/source/outline/tree_data.h"
#include "tests/unit/catch.h"
#include "tests/unit/source/edit_script.h"
#include "tests/unit/source/real_files.h"

namespace {

using namespace hotlens::source;
using namespace hotlens::source::test;

constexpr std::size_t kSequences = 150;
constexpr std::size_t kMostBytes = 40'000;  // of one file, so that edits meet each other

std::size_t sequences() {
  const char* given = std::getenv("HOTLENS_TEST_SEQUENCES");
  return given ? std::strtoul(given, nullptr, 10) : kSequences;
}

// One fact per statement that opens its line, about the statement; and one about an expression in it, from its second token to its last.
struct Subject {
  std::vector<Fact> facts;
  std::vector<std::uint32_t> statements;  // per fact
};

Subject subject_of(const Tree& tree) {
  const Outline& outline = tree.data().outline;
  Subject subject;
  for (std::uint32_t i = 0; i < outline.statements.size(); ++i) {
    const Statement& statement = outline.statements[i];
    if (!statement.opens_line) continue;
    subject.facts.push_back({.role = Role::line, .range = range_of(outline, statement), .has_columns = true, .function = ""});
    subject.statements.push_back(i);
    Tokens tokens = tokens_between(tree.text(), statement.head, statement.end);
    if (tokens.size() < 4) continue;
    subject.facts.push_back({.role = Role::line,
                             .range = {position_of(outline, tokens[1].begin), position_of(outline, tokens.back().end)},
                             .has_columns = true,
                             .function = ""});
    subject.statements.push_back(i);
  }
  return subject;
}

struct Tally {
  std::size_t intact = 0, found = 0, claimed = 0, placed_right = 0;
};

std::string_view text_of(const Tree& tree, std::uint32_t statement) {
  const Statement& one = tree.data().outline.statements[statement];
  return std::string_view(tree.text()).substr(one.head, one.end - one.head);
}

std::string describe(const Anchors::Placement& placed, const std::string& history, const Tree& before, const Subject& subject,
                     std::uint32_t origin) {
  const Outline& outline = before.data().outline;
  std::ostringstream message;
  const Statement& statement = outline.statements[subject.statements[placed.fact]];
  message << history << ": line " << position_of(outline, statement.head).line + 1 << " `"
          << before.text().substr(statement.head, statement.end - statement.head) << "` is " << name(placed.state) << " at line "
          << placed.statement.begin.line + 1 << ", where ";
  if (origin == kNoStatement) {
    message << "new text stands";
  } else {
    message << "line " << position_of(outline, outline.statements[origin].head).line + 1 << " of the original stands";
  }
  return message.str();
}

// Wrong claims of one state of the text.
std::vector<std::string> wrong_claims(const EditScript& script, const Tree& before, const Subject& subject, const Anchors& anchors,
                                      const std::string& history, Tally& tally) {
  Tree now = Tree::parse(script.text());
  const Outline& outline = now.data().outline;
  std::vector<std::string> wrong;
  std::size_t statements = before.data().outline.statements.size();
  auto intact = script.intact(statements), in_place = script.in_place(statements);
  for (const auto& placed : anchors.place(now)) {
    std::uint32_t statement = subject.statements[placed.fact];
    bool there = intact[statement];
    tally.intact += there;
    if (placed.state == State::orphan) continue;
    std::uint32_t byte = 0;
    byte_of(outline, now.text(), placed.statement.begin, byte);
    std::uint32_t head =
        position_of(outline, outline.statements[statement_at(outline, byte)].begin).line;  // decorators are its first lines
    const Chunk* chunk = script.chunk_of_line(head);
    std::uint32_t origin = chunk ? chunk->origin : kNoStatement;
    // An equal statement that was moved, where this one is gone: the text is the same as if this one had been moved and that one deleted.
    bool twin =
        chunk && chunk->moved && origin != kNoStatement && origin != statement && text_of(before, origin) == text_of(before, statement);
    bool right = (origin == statement || twin) && !chunk->changed && (!(chunk->copy || twin) || !in_place[statement]);
    tally.found += there;
    tally.placed_right += there && right;
    if (placed.state != State::fresh && placed.state != State::moved) continue;
    tally.claimed += there;
    if (!right) wrong.push_back(describe(placed, history, before, subject, origin));
  }
  return wrong;
}

}  // namespace

TEST_CASE("What claims to be fresh or moved is the statement it was made from") {
  unsigned first = seed();
  std::vector<RealFile> files = real_files();
  Tally tally;
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < sequences(); ++i) {
    auto own_seed = static_cast<unsigned>(first + i);
    // By its own name: one file more does not change what the others are tried with.
    const RealFile& file = *std::ranges::min_element(files, {}, [&](const RealFile& each) {
      return std::hash<std::string>()(std::to_string(own_seed) + each.path.substr(each.path.rfind('/') + 1));
    });
    std::size_t start = file.text.size() <= kMostBytes ? 0 : file.text.find("\nclass ");
    std::string text = file.text.substr(start == std::string::npos ? 0 : start, kMostBytes);
    text.resize(text.rfind('\n') + 1);
    Tree before = Tree::parse(text);
    Subject subject = subject_of(before);
    Anchors anchors = Anchors::bind(before, subject.facts);
    EditScript script(text, own_seed);
    std::string history = file.path + " seed " + std::to_string(own_seed);
    std::size_t steps = 1 + own_seed % 12;
    for (std::size_t k = 0; k < steps; ++k) history += (k == 0 ? ": " : ", ") + script.step();
    for (std::string& each : wrong_claims(script, before, subject, anchors, history, tally)) wrong.push_back(std::move(each));
  }
  auto percent = [&](std::size_t part) { return 100.0 * static_cast<double>(part) / static_cast<double>(tally.intact); };
  CAPTURE(first);
  for (std::size_t i = 0; i < wrong.size() && i < 20; ++i) WARN(wrong[i]);
  CHECK(wrong.empty());
  CHECK(percent(tally.placed_right) > 99);
  CHECK(percent(tally.claimed) > 80);
  WARN(sequences() << " sequences from seed " << first << ": of " << tally.intact << " unchanged statements " << percent(tally.found)
                   << " % are found, " << percent(tally.placed_right) << " % in the right place, " << percent(tally.claimed)
                   << " % claimed fresh or moved");
}

TEST_CASE("Undo brings every statement back as fresh") {
  for (const RealFile& file : real_files()) {
    Tree before = Tree::parse(file.text);
    Subject subject = subject_of(before);
    Anchors anchors = Anchors::bind(before, subject.facts);
    std::size_t at = file.text.size() / 2;
    std::string typed = file.text.substr(0, at) + "(" + file.text.substr(at);
    auto byte = static_cast<std::uint32_t>(at);
    Tree broken = before.edited({.start_byte = byte, .old_end_byte = byte, .new_end_byte = byte + 1}, typed);
    Tree again = broken.edited({.start_byte = byte, .old_end_byte = byte + 1, .new_end_byte = byte}, file.text);
    for (const auto& placed : anchors.place(again)) {
      if (placed.state == State::fresh && placed.range == subject.facts[placed.fact].range) continue;
      FAIL(file.path << " line " << subject.facts[placed.fact].range.begin.line + 1 << " is " << name(placed.state));
    }
  }
}

TEST_CASE("While a statement is typed, no other one loses its place") {
  const std::string typed = "value = self.layer(torch.cat([x, {'a': f\"{y}\"}]), key=lambda z: z[0])";
  for (const RealFile& file : real_files()) {
    Tree before = Tree::parse(file.text);
    Subject subject = subject_of(before);
    Anchors anchors = Anchors::bind(before, subject.facts);
    const auto& statements = before.data().outline.statements;
    for (std::size_t i = 7; i < statements.size(); i += statements.size() / 5 + 1) {
      std::size_t k = i;
      while (k > 0 && (!statements[k].opens_line || statements[k].kind == StatementKind::clause)) --k;
      std::uint32_t begin = statements[k].begin;
      std::string indent(position_of(before.data().outline, begin).column, ' ');
      for (std::size_t size = 1; size <= typed.size(); ++size) {
        std::string line = typed.substr(0, size) + "\n" + indent;
        Tree now = Tree::parse(std::string(file.text).insert(begin, line));
        for (const auto& placed : anchors.place(now)) {
          bool below = statements[subject.statements[placed.fact]].begin >= begin;
          State expected = below ? State::moved : State::fresh;
          std::uint32_t expected_line = subject.facts[placed.fact].range.begin.line + (below ? 1 : 0);
          if (placed.state == expected && placed.range.begin.line == expected_line) continue;
          FAIL(file.path << " line " << subject.facts[placed.fact].range.begin.line + 1 << " is " << name(placed.state) << " at "
                         << placed.range.begin.line + 1 << " behind `" << typed.substr(0, size) << "` above line "
                         << position_of(before.data().outline, begin).line + 1);
        }
      }
    }
  }
}
