#include "annotator/source/batch_size.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/source/marked_text.h"

using namespace hotlens::source;

namespace {

// The line in which 8 is the batch size, from 1; 0: none, or several.
std::uint32_t line_of(const std::string& text) {
  const Tree tree = Tree::parse(text);
  const auto found = batch_size_number(tree, 8);
  if (!found) return 0;
  CHECK(test::slice(tree.text(), *found) == "8");
  return found->begin.line + 1;
}

}  // namespace

TEST_CASE("a batch size is an assigned, passed or default number under a name for it") {
  CHECK(line_of("import torch\nbatch_size = 8\n") == 2);
  CHECK(line_of("class Config:\n    n = 8\n    train_batch_size: int = 8\n") == 3);
  CHECK(line_of("BATCH_SIZE = 8  # 8 pictures\n") == 1);
  CHECK(line_of("loader = DataLoader(data, shuffle=True, batch_size=8)\n") == 1);
  CHECK(line_of("args = TrainingArguments(\n    per_device_train_batch_size=8,\n    steps=8)\n") == 2);
  CHECK(line_of("def train(data, bs=8, epochs=8):\n    pass\n") == 1);
  CHECK(line_of("parser.add_argument('--batch-size', type=int, default=8)\nparser.add_argument('--epochs', default=8)\n") == 1);
  CHECK(line_of("parser.add_argument(\n    '-b', \"--batch-size\",\n    help=f(8), default=8)\n") == 3);
}

TEST_CASE("no number is guessed to be the batch size") {
  CHECK(line_of("") == 0);
  CHECK(line_of("hidden = 8\nepochs = 8\n") == 0);
  CHECK(line_of("batch_size = 16\nbatch_size = 8.0\nbatch_size = 0x8\n") == 0);
  CHECK(line_of("batch_size = 8\nother(batch_size=8)\n") == 0);
  CHECK(line_of("batch_size = 8 * world\n") == 0);
  CHECK(line_of("if batch_size == 8: pass\n") == 0);
  CHECK(line_of("text = 'batch_size=8'\n# batch_size = 8\n") == 0);
  CHECK(line_of("parser.add_argument('--epochs', default=8, help='--batch-size')\n") == 0);
  CHECK(line_of("add(batch_size=\n") == 0);
}
