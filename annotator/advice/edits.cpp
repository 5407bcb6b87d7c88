#include "annotator/advice/edits.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <span>

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;
using Made = std::expected<Edits, NoEdit>;

// A call in one of the files.
struct Found {
  std::size_t file = 0;
  const Call* call = nullptr;
};

class Editor {
 public:
  explicit Editor(const Sources& sources) : sources_(sources) {
    for (const SourceText& file : sources.files) texts_.emplace_back(file.text);
  }

  Made optimizer(std::string_view option) const;
  Made zero_grad() const;
  Made modules(std::span<const std::string> paths, std::span<const std::string_view> classes,
               std::expected<Replacement, std::string> (*edit)(const PythonText&, const Call&)) const;
  Made channels_last() const;
  Made autocast(std::string_view device) const;
  Made checkpoint(std::span<const std::string> paths) const;

  std::string place(std::size_t file, std::uint32_t byte) const {
    return fmt::format("{}:{}", sources_.files[file].path.filename().string(), texts_[file].line_of(byte) + 1);
  }
  const Sources& sources() const { return sources_; }
  const PythonText& text(std::size_t file) const { return texts_[file]; }

 private:
  template <class Fits>
  std::vector<Found> calls(const Fits& fits) const {
    std::vector<Found> found;
    for (std::size_t file = 0; file < texts_.size(); ++file) {
      for (const Call& call : texts_[file].calls()) {
        if (fits(texts_[file], call)) found.push_back({file, &call});
      }
    }
    return found;
  }

  std::string places(const std::vector<Found>& found) const {
    std::string all;
    for (const Found& one : found) all += (all.empty() ? "" : ", ") + place(one.file, one.call->whole.begin);
    return all;
  }

  std::expected<Found, NoEdit> optimizer_call() const;
  // The statement of a stage's line, in the file and bytes of it.
  std::optional<std::pair<std::size_t, Span>> stage(attribution::Stage stage) const;
  std::string indentation(std::size_t file, std::uint32_t byte) const;  // of its line; not blank where something stands before it

  const Sources& sources_;
  std::vector<PythonText> texts_;
};

std::unexpected<NoEdit> no(std::string reason) {
  return std::unexpected(NoEdit{.reason = std::move(reason), .by_hand = {}});
}

bool ends_line(std::string_view indentation) {
  return indentation.find_first_not_of(" \t") == std::string_view::npos;
}

std::string_view line_end(std::string_view text) {
  return text.contains("\r\n") ? "\r\n" : "\n";
}

// -- optimizers

bool is_optimizer(const Call& call) {
  constexpr std::array<std::string_view, 3> kNames{".Adam", ".AdamW", ".SGD"};
  return call.what.starts_with("torch.optim.") &&
         std::ranges::any_of(kNames, [&](std::string_view name) { return call.what.ends_with(name); });
}

std::expected<Found, NoEdit> Editor::optimizer_call() const {
  const std::vector<Found> found = calls([](const PythonText&, const Call& call) { return is_optimizer(call); });
  if (found.empty()) return no("none of the files that ran calls torch.optim.Adam, AdamW or SGD: a library makes the optimizer");
  if (found.size() > 1) return no("several places make an optimizer: " + places(found));
  return found.front();
}

// `, name=value` behind the last argument.
Replacement appended(const Call& call, const std::string& keyword) {
  if (call.given.empty()) return {{call.arguments.begin + 1, call.arguments.begin + 1}, keyword};
  const std::uint32_t end = call.given.back().whole.end;
  return {{end, end}, ", " + keyword};
}

std::vector<Replacement> with_keyword(const Call& call, const std::string& keyword) {
  if (!call.lone_generator) return {appended(call, keyword)};
  return {{{call.arguments.begin, call.arguments.begin}, "("}, {{call.arguments.end, call.arguments.end}, ", " + keyword + ")"}};
}

Made Editor::optimizer(std::string_view option) const {
  const auto found = optimizer_call();
  if (!found) return std::unexpected(found.error());
  const Call& call = *found->call;
  const PythonText& text = texts_[found->file];
  if (call.spreads()) return no("options of the optimizer come from elsewhere, at " + place(found->file, call.whole.begin));
  for (std::size_t file = 0; file < texts_.size(); ++file) {
    if (texts_[file].has_string(option)) {
      return no(fmt::format("\"{}\" is also set or read by name, in {}", option, sources_.files[file].path.filename().string()));
    }
  }
  const std::string keyword = std::string(option) + "=True";
  for (const std::string_view name : {std::string_view("fused"), std::string_view("foreach"), std::string_view("differentiable")}) {
    const Argument* given = call.named(name);
    if (given == nullptr || given->kind == "false" || given->kind == "none") continue;
    if (given->kind != "true") return no(fmt::format("`{}` of the optimizer is an expression: `{}`", name, text.at(given->value)));
    if (name == option) return no(fmt::format("the optimizer has {} already", keyword));
    if (name == "differentiable") return no("a differentiable optimizer has no such form");
    // The two exclude each other.
    if (call.named(option) != nullptr) return no("both fused and foreach are set at " + place(found->file, call.whole.begin));
    return Edits{{found->file, {{given->whole, keyword}}}};
  }
  if (const Argument* given = call.named(option)) return Edits{{found->file, {{given->value, "True"}}}};
  return Edits{{found->file, with_keyword(call, keyword)}};
}

Made Editor::zero_grad() const {
  const auto value = [](const Call& call) -> const Argument* {
    if (const Argument* named = call.named("set_to_none")) return named;
    return call.given.size() == 1 && call.given[0].name.empty() ? call.given.data() : nullptr;
  };
  const std::vector<Found> found = calls([&](const PythonText& text, const Call& call) {
    const Argument* argument = value(call);
    return text.at(call.callee).ends_with(".zero_grad") && argument != nullptr && argument->kind == "false";
  });
  if (found.empty()) return no("no call of zero_grad has set_to_none=False in the files that ran");
  if (found.size() > 1) return no("several calls have set_to_none=False: " + places(found));
  return Edits{{found[0].file, {{value(*found[0].call)->value, "True"}}}};
}

// -- layers

std::expected<Replacement, std::string> without_dropout(const PythonText& text, const Call& call) {
  const Argument* given = call.named("p");
  if (given == nullptr && !call.given.empty() && call.given[0].name.empty()) given = call.given.data();
  if (given == nullptr) return appended(call, "p=0.0");
  if (given->kind == "float" || given->kind == "integer") return Replacement{given->value, "0.0"};
  return std::unexpected(fmt::format("its probability is an expression, `{}`", text.at(given->value)));
}

std::expected<Replacement, std::string> relu(const PythonText& text, const Call& call) {
  const std::string_view callee = text.at(call.callee);
  if (!callee.ends_with(".GELU")) return std::unexpected("GELU has a name of its own here, so ReLU needs an import");
  const auto begin = static_cast<std::uint32_t>(call.callee.end - std::string_view("GELU").size());
  return Replacement{{begin, call.whole.end}, "ReLU()"};
}

Made Editor::modules(std::span<const std::string> paths, std::span<const std::string_view> classes,
                     std::expected<Replacement, std::string> (*edit)(const PythonText&, const Call&)) const {
  std::map<std::size_t, std::map<std::uint32_t, Replacement>> edits;  // by file and byte: layers of a loop have one
  for (const std::string& path : paths) {
    const auto module = std::ranges::find(sources_.model.modules, path, &profile::ModelModule::path);
    if (module == sources_.model.modules.end()) return no(fmt::format("the layer `{}` is not known", path));
    const auto& site = module->constructed ? module->constructed : module->attached;
    const std::size_t file = site ? sources_.file_of(*site) : texts_.size();
    if (std::ranges::find(classes, module->class_name) == classes.end()) {
      return no(fmt::format("`{}` ({}) does it in its own code", path, module->class_name));
    }
    if (file == texts_.size()) return no(fmt::format("`{}` is made in a library", path));
    const PythonText& text = texts_[file];
    const auto span = text.span_of(site->line, site->end_line, site->column, site->end_column);
    std::vector<const Call*> made;
    for (const Call& call : text.calls()) {
      if (span && span->holds(call.whole) && call.what == "torch.nn." + module->class_name) made.push_back(&call);
    }
    const std::string where = fmt::format("{}:{}", sources_.files[file].path.filename().string(), site->line + 1);
    if (made.size() != 1) return no(fmt::format("`{}` is made in {} by no single call of its class", path, where));
    if (made[0]->spreads()) return no(fmt::format("arguments of `{}` come from elsewhere, at {}", path, where));
    auto one = edit(text, *made[0]);
    if (!one) return no(fmt::format("{}: {}", where, one.error()));
    edits[file].emplace(one->span.begin, std::move(*one));
  }
  Edits all;
  for (auto& [file, replacements] : edits) {
    all.push_back({.file = file, .replacements = {}});
    for (auto& [begin, one] : replacements) all.back().replacements.push_back(std::move(one));
  }
  return all;
}

// -- statements

std::optional<std::pair<std::size_t, Span>> Editor::stage(attribution::Stage stage) const {
  const auto site = std::ranges::find(sources_.model.stages, stage, &profile::StageSite::stage);
  if (site == sources_.model.stages.end()) return std::nullopt;
  const std::size_t file = sources_.file_of(site->site);
  if (file == texts_.size()) return std::nullopt;
  const profile::Site& at = site->site;
  auto span = texts_[file].span_of(at.line, at.end_line, at.column, at.end_column);
  if (!span) return std::nullopt;
  const std::string& text = texts_[file].text();
  while (span->begin < span->end && (text[span->begin] == ' ' || text[span->begin] == '\t')) ++span->begin;
  return std::pair(file, *span);
}

std::string Editor::indentation(std::size_t file, std::uint32_t byte) const {
  const std::string& text = texts_[file].text();
  const std::size_t line = byte == 0 ? 0 : text.rfind('\n', byte - 1) + 1;
  return text.substr(line, byte - line);
}

Made Editor::channels_last() const {
  const auto made = optimizer_call();
  if (!made) return std::unexpected(made.error());
  const auto forward = stage(attribution::Stage::forward);
  if (!forward || forward->first != made->file) return no("the model is called in another file than its optimizer is made in");
  const PythonText& text = texts_[made->file];
  if (!text.imports("torch")) return no("the file does not import torch under this name");
  const std::string_view parameters = made->call->given.empty() ? "" : text.at(made->call->given[0].value);
  constexpr std::string_view kEnd = ".parameters()";
  const std::string model(parameters.substr(0, parameters.ends_with(kEnd) ? parameters.size() - kEnd.size() : 0));
  if (model.empty()) return no("the optimizer's parameters are not those of one model");
  const auto call =
      std::ranges::find_if(text.calls(), [&](const Call& one) { return forward->second.holds(one.whole) && text.at(one.callee) == model; });
  if (call == text.calls().end()) return no("the model is called by another name in the loop than where its optimizer is made");
  const bool plain = call->given.size() == 1 && call->given[0].kind == "identifier";
  if (!plain || !call->given[0].name.empty()) return no("the model is not called with one variable, the images");
  const std::vector<Statement> block = text.block_from(made->call->whole);
  if (block.empty() || !ends_line(indentation(made->file, block[0].span.begin))) return no("the optimizer shares its line");
  const std::string before = fmt::format("{}.to(memory_format=torch.channels_last){}{}", model, line_end(text.text()),
                                         indentation(made->file, block[0].span.begin));
  const std::uint32_t begin = block[0].span.begin, end = call->given[0].value.end;
  return Edits{{made->file, {{{begin, begin}, before}, {{end, end}, ".to(memory_format=torch.channels_last)"}}}};
}

// From the model's call to the last statement before the one that goes backward, in one block.
Made Editor::autocast(std::string_view device) const {
  const auto forward = stage(attribution::Stage::forward), loss = stage(attribution::Stage::loss);
  if (!forward) return no("it is not known where the loop calls the model");
  const std::size_t file = forward->first;
  const PythonText& text = texts_[file];
  if (!text.imports("torch")) return no("the file does not import torch under this name");
  std::vector<Statement> inside;
  bool backward = false;
  for (const Statement& statement : text.block_from(forward->second)) {
    backward = text.at(statement.span).contains(".backward(");
    if (backward) break;
    if (!statement.simple) return no("other loops or branches stand between the model's call and the backward pass");
    inside.push_back(statement);
  }
  if (!backward || inside.empty()) return no("no backward() follows the model's call as a statement of its own in the same block");
  const auto holds = [&](const Statement& statement) { return loss && loss->first == file && statement.span.holds(loss->second); };
  const auto last = std::ranges::find_if(inside, holds);
  if (last != inside.end()) inside.erase(last + 1, inside.end());
  const std::string indentation_was = indentation(file, inside[0].span.begin);
  if (!ends_line(indentation_was)) return no("the model's call shares its line");
  const std::string deeper = indentation_was.contains('\t') ? "\t" : "    ";
  const std::uint32_t begin = inside[0].span.begin;
  FileEdit edit{.file = file, .replacements = {}};
  edit.replacements.push_back(
      {{begin, begin},
       fmt::format("with torch.autocast(\"{}\", torch.bfloat16):{}{}{}", device, line_end(text.text()), indentation_was, deeper)});
  const Span all{begin, inside.back().span.end};
  for (std::uint32_t at = all.begin; at < all.end; ++at) {
    const bool starts = text.text()[at] == '\n' && text.text()[at + 1] != '\n' && text.text()[at + 1] != '\r';
    if (starts && !text.in_string(at + 1)) edit.replacements.push_back({{at + 1, at + 1}, deeper});
  }
  return Edits{std::move(edit)};
}

// -- blocks

bool at_one_place(const profile::Site& one, const profile::Site& other) {
  return one.file.index == other.file.index && one.line == other.line && one.column == other.column && one.end_line == other.end_line &&
         one.end_column == other.end_column;
}

// `block(x)` → `torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)`, where the expression calls these blocks and no others.
Made Editor::checkpoint(std::span<const std::string> paths) const {
  std::map<std::size_t, std::map<std::uint32_t, Replacement>> edits;  // by file and byte: blocks of a loop have one
  const auto path_of = [&](const profile::ModelCall& call) -> const profile::ModelModule& { return sources_.model.modules[call.module]; };
  const auto is_wanted = [&](const profile::ModelCall& call) { return std::ranges::find(paths, path_of(call).path) != paths.end(); };
  const auto& calls = sources_.model.calls;
  for (const std::string& path : paths) {
    const auto call = std::ranges::find_if(calls, [&](const auto& one) { return path_of(one).path == path; });
    if (call == calls.end() || !call->site) return no(fmt::format("it is not known where `{}` is called", path));
    const bool inside = call->parent < calls.size() && path_of(calls[call->parent]).class_name == "Sequential";
    if (inside) return no(fmt::format("`{}` is called by the nn.Sequential that holds it", path));
    for (const auto& other : calls) {
      const bool same = other.parent == call->parent && other.site && at_one_place(*other.site, *call->site);
      if (same && !is_wanted(other)) return no(fmt::format("the expression that calls `{}` also calls `{}`", path, path_of(other).path));
    }
    const std::size_t file = sources_.file_of(*call->site);
    if (file == texts_.size()) return no(fmt::format("`{}` is called in a library", path));
    const PythonText& text = texts_[file];
    if (!text.imports("torch")) return no("the file does not import torch under this name");
    const profile::Site& site = *call->site;
    const auto span = text.span_of(site.line, site.end_line, site.column, site.end_column);
    const auto found = std::ranges::find_if(text.calls(), [&](const Call& one) { return span && one.whole == *span; });
    if (found == text.calls().end()) return no(fmt::format("no expression of its own calls `{}`", path));
    if (found->given.empty() || found->lone_generator) return no(fmt::format("`{}` is called with no plain arguments", path));
    const std::string given(text.at(Span{found->given.front().whole.begin, found->given.back().whole.end}));
    edits[file].insert_or_assign(found->whole.begin,
                                 Replacement{found->whole, fmt::format("torch.utils.checkpoint.checkpoint({}, {}, use_reentrant=False)",
                                                                       text.at(found->callee), given)});
  }
  Edits all;
  for (auto& [file, replacements] : edits) {
    all.push_back({.file = file, .replacements = {}});
    for (auto& [begin, one] : replacements) all.back().replacements.push_back(std::move(one));
  }
  return all;
}

// -- every kind

constexpr std::array<std::string_view, 6> kDropouts{"Dropout",   "Dropout1d",    "Dropout2d",
                                                    "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"};
constexpr std::array<std::string_view, 1> kGelu{"GELU"};

Made made(const Editor& editor, std::string_view kind, const std::vector<std::string>& modules) {
  if (kind == "fused_optimizer") return editor.optimizer("fused");
  if (kind == "foreach_optimizer") return editor.optimizer("foreach");
  if (kind == "zero_grad_none") return editor.zero_grad();
  if (kind == "no_dropout") return editor.modules(modules, kDropouts, without_dropout);
  if (kind == "gelu_to_relu") return editor.modules(modules, kGelu, relu);
  if (kind == "channels_last") return editor.channels_last();
  if (kind == "autocast_bf16") return editor.autocast(editor.sources().device);
  if (kind == "checkpoint") return editor.checkpoint(modules);
  return no("no edit of a single expression does it");
}

std::string_view by_hand(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWays{{
      {"fused_optimizer", "give the optimizer fused=True where it is made"},
      {"foreach_optimizer", "give the optimizer foreach=True where it is made"},
      {"zero_grad_none", "call zero_grad() without set_to_none=False"},
      {"no_dropout", "set the probability of every dropout to 0"},
      {"gelu_to_relu", "put ReLU in place of GELU"},
      {"channels_last",
       "call model.to(memory_format=torch.channels_last) before the optimizer is made, and x.to(memory_format=torch.channels_last) on "
       "images"},
      {"autocast_bf16",
       "put the model's call and the loss under `with torch.autocast(device, torch.bfloat16):`, the backward pass outside"},
      {"checkpoint", "call each of these blocks as torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"},
      {"batch_norm_eval", "call eval() on every batch norm after each model.train()"},
  }};
  const auto* found = std::ranges::find(kWays, kind, &std::pair<std::string_view, std::string_view>::first);
  return found == kWays.end() ? "" : found->second;
}

bool overlap(const std::vector<Replacement>& replacements) {
  for (std::size_t at = 1; at < replacements.size(); ++at) {
    if (replacements[at].span.begin < replacements[at - 1].span.end || replacements[at].span == replacements[at - 1].span) return true;
  }
  return false;
}

// Of several kinds, in one list for each file.
std::optional<NoEdit> merge(Edits& all, Edits more) {
  for (FileEdit& edit : more) {
    auto known = std::ranges::find(all, edit.file, &FileEdit::file);
    if (known == all.end()) known = all.insert(all.end(), {.file = edit.file, .replacements = {}});
    std::ranges::move(edit.replacements, std::back_inserter(known->replacements));
    std::ranges::stable_sort(known->replacements, {}, [](const Replacement& one) { return one.span.begin; });
    if (overlap(known->replacements))
      return NoEdit{.reason = "these changes edit the same place; apply one after the other", .by_hand = {}};
  }
  return std::nullopt;
}

std::string has_changed(const SourceText& file) {
  return file.path.filename().string() + " has changed since it was profiled; profile it again";
}

// What is not found may be what was changed.
std::optional<std::string> changed(const Sources& sources) {
  const auto found = std::ranges::find(sources.files, false, &SourceText::as_executed);
  return found == sources.files.end() ? std::nullopt : std::optional(has_changed(*found));
}

std::optional<std::string> unsafe(const FileEdit& edit, const Editor& editor) {
  const SourceText& file = editor.sources().files[edit.file];
  const std::string name = file.path.filename().string();
  if (!file.as_executed) return has_changed(file);
  if (!file.can_be_edited) return name + " is read-only";
  if (editor.text(edit.file).broken()) return name + " does not parse";
  if (PythonText(replaced(file.text, edit.replacements)).broken()) return "the edited " + name + " would not parse";
  return std::nullopt;
}

}  // namespace

std::string sentence(const NoEdit& why) {
  return why.by_hand.empty() ? why.reason : why.reason + "; by hand: " + why.by_hand;
}

std::expected<Edits, NoEdit> edits_of(const std::vector<lab::Part>& parts, const Sources& sources) {
  const Editor editor(sources);
  Edits all;
  for (const lab::Part& part : parts) {
    auto edits = made(editor, part.kind, part.modules);
    if (!edits) return std::unexpected(NoEdit{changed(sources).value_or(edits.error().reason), std::string(by_hand(part.kind))});
    if (auto wrong = merge(all, std::move(*edits))) return std::unexpected(std::move(*wrong));
  }
  for (const FileEdit& edit : all) {
    if (auto reason = unsafe(edit, editor)) return std::unexpected(NoEdit{std::move(*reason), {}});
  }
  return all;
}

std::vector<lab::SourceEdit> described(const Edits& edits, const Sources& sources) {
  std::vector<lab::SourceEdit> all;
  for (const FileEdit& edit : edits) {
    const PythonText text(sources.files[edit.file].text);
    for (const Replacement& one : edit.replacements) {
      const auto [line, character] = text.position_of(one.span.begin);
      const auto [end_line, end_character] = text.position_of(one.span.end);
      all.push_back({.file = sources.files[edit.file].path.string(),
                     .line = line,
                     .character = character,
                     .end_line = end_line,
                     .end_character = end_character,
                     .was = std::string(text.at(one.span)),
                     .text = one.text});
    }
  }
  return all;
}

Result<void> write(const Edits& edits, const Sources& sources) {
  for (const FileEdit& edit : edits) {
    const SourceText& file = sources.files[edit.file];
    std::error_code error;
    const fs::path real = fs::canonical(file.path, error);
    const fs::path draft = real.string() + ".hotlens-draft";
    {
      std::ofstream out(draft, std::ios::binary | std::ios::trunc);
      out << replaced(file.text, edit.replacements);
      out.flush();
      if (!out) error = std::make_error_code(std::errc::io_error);
    }
    if (!error) fs::permissions(draft, fs::status(real, error).permissions(), error);
    if (!error) fs::rename(draft, real, error);
    if (!error) continue;
    std::error_code gone;
    fs::remove(draft, gone);
    return std::unexpected(Error{ErrorCode::unreadable, "the edit could not be written: " + error.message(), file.path.string()});
  }
  return {};
}

}  // namespace hotlens::advice
