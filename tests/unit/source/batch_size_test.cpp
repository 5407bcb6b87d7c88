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

TEST_CASE("a batch size is also a value in a dict, an item, a field's default, and the second argument of a loader") {
  CHECK(line_of("config = {'lr': 1e-3,\n          'batch_size': 8}\n") == 2);
  CHECK(line_of("config['train']['batch_size'] = 8\n") == 1);
  CHECK(line_of("args.batch_size = 8\n") == 1);
  CHECK(line_of("@dataclass\nclass Config:\n    batch_size: int = field(default=8)\n") == 3);
  CHECK(line_of("class Config(BaseModel):\n    batch_size: int = pydantic.Field(8, gt=0)\n    steps: int = Field(8)\n") == 2);
  CHECK(line_of("@click.option('--batch-size', '-b', default=8)\ndef main(batch_size): pass\n") == 1);
  CHECK(line_of("def main(epochs: int = typer.Option(8), batch_size: int = typer.Option(8)): pass\n") == 1);
  CHECK(line_of("loader = DataLoader(TensorDataset(x, y),\n                    8, shuffle=True)\n") == 2);
  CHECK(line_of("for x, y in torch.utils.data.DataLoader(data, 8): pass\n") == 1);
}

TEST_CASE("what only looks like one of them is no batch size") {
  CHECK(line_of("config = {'epochs': 8, 'batch_size': size}\n") == 0);
  CHECK(line_of("config['epochs'] = 8\nbatch_size[0] = 8\n") == 0);
  CHECK(line_of("loader = DataLoader(data, size, 8)\nother = Loader(data, 8)\n") == 0);
  CHECK(line_of("loader = DataLoader(f(data, 8), size)\n") == 0);
  CHECK(line_of("steps: int = field(default=8)\nbatch_size: int = field(metadata=8)\n") == 0);
  CHECK(line_of("epochs: int = Option(8)\nx = batch_size, Field(8)\n") == 0);
}

namespace {

std::uint32_t settings_line(std::string_view text) {
  const auto found = batch_size_in_settings(text, 8);
  return found ? found->begin.line + 1 : 0;
}

}  // namespace

TEST_CASE("files of settings set a batch size, too") {
  CHECK(settings_line("lr: 0.1\ntrain:\n  batch_size: 8  # pictures\n") == 3);
  CHECK(settings_line("train.batch_size: 8") == 1);
  CHECK(settings_line("{\"lr\": 0.1, \"batch_size\": 8, \"epochs\": 8}") == 1);
  CHECK(settings_line("{\n  \"train_batch_size\" : 8\n}\r\n") == 2);
  CHECK(settings_line("[train]\nbatch-size = 8\n") == 2);
  CHECK(settings_line("train: {batch_size: 8}\n") == 1);
  CHECK(settings_line("") == 0);
  CHECK(settings_line("epochs: 8\nbatch_size: 18\nbatch_size: 80\nbatch_size: 8.5\n") == 0);
  CHECK(settings_line("# batch_size: 8\neval_batch_size: 8\n") == 0);
  CHECK(settings_line("batch_size: 8\nother:\n  batch_size: 8\n") == 0);
  const auto found = batch_size_in_settings("a: 1\n  bs: 8\n", 8);
  REQUIRE(found);
  CHECK(*found == Range{{1, 6}, {1, 7}});
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
