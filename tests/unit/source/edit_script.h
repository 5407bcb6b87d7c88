// A text that remembers, through random edits, which of its lines each original statement has become.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "annotator/source/outline/outline.h"

namespace hotlens::source::test {

// Consecutive lines: one logical line, or blanks and comments.
struct Chunk {
  std::vector<std::string> lines;
  std::uint32_t origin = kNoStatement;  // the original text's statement; for a copy the one it was copied from
  bool copy = false;
  bool moved = false;  // away from where the original text has it
  std::uint32_t indent = 0;
  bool code = false;
  bool header = false;
  bool changed = false;  // its tokens are no longer the original's
  bool plain = false;    // one line without multi-line strings: may be moved, reformatted and indented
};

class EditScript {
 public:
  EditScript(const std::string& text, unsigned seed);

  // One random edit; its name, for messages.
  std::string step();
  std::string text() const;
  // What begins at a line of text(): nothing original for new text and continued lines.
  const Chunk* chunk_of_line(std::uint32_t line) const;
  // Per original statement whether it is still there, unchanged.
  std::vector<bool> intact(std::size_t statements) const;
  // Per original statement whether it is unchanged where it was. If not, a copy of it may have taken its place: the text then is the same
  // as if the copy had been pasted where the original went.
  std::vector<bool> in_place(std::size_t statements) const;

 private:
  std::vector<bool> originals(std::size_t statements, bool (*wanted)(const Chunk&)) const;
  std::size_t below(std::size_t n);
  std::size_t random_chunk(bool (*wanted)(const Chunk&));
  std::size_t behind_body(std::size_t header) const;
  void indent_to(Chunk& chunk, std::uint32_t indent);
  std::string insert_new();
  std::string insert_copy();
  std::string insert_comment();
  std::string remove();
  std::string move();
  std::string move_body();
  std::string remove_body();
  std::string rename();
  std::string reformat();
  std::string wrap();
  std::string wrap_run();
  std::string change();

  std::vector<Chunk> chunks_;
  std::mt19937 random_;
};

}  // namespace hotlens::source::test
