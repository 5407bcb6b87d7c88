#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

// Where a model is put into channels_last, by a call on it or where it is made.
std::optional<std::uint32_t> converted(const PythonText& text, std::string_view model) {
  for (const Call& call : text.calls()) {
    const Argument* format = call.named("memory_format");
    if (format == nullptr || text.at(format->value) != "torch.channels_last") continue;
    const std::vector<Statement> block = text.block_from(call.whole);
    const std::string_view statement = block.empty() ? std::string_view() : text.at(block[0].span);
    const bool on_it = statement.starts_with(model) && statement.substr(model.size()).find_first_of(".= :") == 0;
    if (on_it) return call.whole.begin;
  }
  return std::nullopt;
}

}  // namespace

Made channels_last(const Script& script) {
  const auto made = script.optimizer_call();
  if (!made) return std::unexpected(made.error());
  const auto forward = script.stage(attribution::Stage::forward);
  if (!forward || forward->first != made->file) return no("the model is called in another file than its optimizer is made in");
  const PythonText& text = script.texts()[made->file];
  const std::string model = model_of(text, *made->call);
  if (model.empty()) return no("the optimizer's parameters are not those of one model");
  const auto call =
      std::ranges::find_if(text.calls(), [&](const Call& one) { return forward->second.holds(one.whole) && text.at(one.callee) == model; });
  if (call == text.calls().end()) return no("the model is called by another name in the loop than where its optimizer is made");
  if (const auto there = converted(text, model)) {
    return no(fmt::format("`{}` is in channels_last already, at {}", model, script.place(made->file, *there)));
  }
  const bool plain = call->given.size() == 1 && call->given[0].kind == "identifier";
  if (!plain || !call->given[0].name.empty()) return no("the model is not called with one variable, the images");
  const std::vector<Statement> block = text.block_from(made->call->whole);
  if (block.empty() || !is_blank(script.indentation(made->file, block[0].span.begin)))
    return no("another statement stands on the line of the optimizer");
  const std::string before = fmt::format("{}.to(memory_format=torch.channels_last){}{}", model, line_end(text.text()),
                                         script.indentation(made->file, block[0].span.begin));
  const std::uint32_t begin = block[0].span.begin, end = call->given[0].value.end;
  return Edits{{made->file, {{{begin, begin}, before}, {{end, end}, ".to(memory_format=torch.channels_last)"}}, {"torch"}}};
}

Made cudnn_benchmark(const Script& script) {
  const auto is_convolution = [](const profile::ModelModule& module) { return module.class_name.starts_with("Conv"); };
  if (script.sources().device != "cuda") return no("the step ran on no device that cuDNN is for");
  if (std::ranges::none_of(script.sources().model.modules, is_convolution)) return no("the model has no convolution");
  const auto sets = std::ranges::find_if(script.texts(), [](const PythonText& one) { return one.text().contains("cudnn.benchmark"); });
  if (sets != script.texts().end()) return no("the script sets cudnn.benchmark itself");
  const auto made = script.optimizer_call();
  if (!made) return std::unexpected(made.error());
  return before_statement(script, *made, "torch.backends.cudnn.benchmark = True", {"torch"});
}

Made tf32(const Script& script) {
  constexpr auto kSettings = std::to_array<std::string_view>(
      {"set_float32_matmul_precision", "matmul.allow_tf32", "matmul.fp32_precision", "backends.fp32_precision"});
  if (script.sources().device != "cuda") return no("the step ran on no device that has TF32");
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    for (const std::string_view setting : kSettings) {
      const std::size_t at = script.texts()[file].text().find(setting);
      if (at == std::string::npos) continue;
      return no("the script sets the precision of 32-bit products itself, at " + script.place(file, static_cast<std::uint32_t>(at)));
    }
  }
  const auto made = script.optimizer_call();
  if (!made) return std::unexpected(made.error());
  return before_statement(script, *made, "torch.set_float32_matmul_precision(\"high\")", {"torch"});
}

Made compile(const Script& script) {
  const auto made = script.optimizer_call();
  if (!made) return std::unexpected(made.error());
  const std::vector<Found> compiled = script.calls([](const PythonText& text, const Call& call) {
    return call.what == "torch.compile" || (call.given.empty() && text.at(call.callee).ends_with(".compile"));
  });
  if (!compiled.empty()) return no("the script compiles already, at " + script.places(compiled));
  const auto decorated = std::ranges::find_if(script.texts(), [](const PythonText& one) { return one.text().contains("@torch.compile"); });
  if (decorated != script.texts().end()) return no("the script compiles already: @torch.compile");
  const std::string model = model_of(script.texts()[made->file], *made->call);
  if (model.empty()) return no("the optimizer's parameters are not those of one model");
  return before_statement(script, *made, model + ".compile()");
}

// From the model's call to the last statement before the one that goes backward, in one block.
Made autocast(const Script& script, std::string_view device) {
  const auto forward = script.stage(attribution::Stage::forward), loss = script.stage(attribution::Stage::loss);
  if (!forward) return no("it is not known where the loop calls the model");
  const std::size_t file = forward->first;
  const PythonText& text = script.texts()[file];
  const std::string at_call = script.place(file, forward->second.begin);
  if (text.is_under(forward->second, "autocast")) return no(fmt::format("the model's call at {} is under autocast already", at_call));
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
  const std::string indentation_was = script.indentation(file, inside[0].span.begin);
  if (!is_blank(indentation_was)) return no("another statement stands on the line of the model's call");
  if (shares_end(text.text(), inside.back().span.end)) return no("another statement stands on the line of the loss");
  const std::string deeper = indentation_was.contains('\t') ? "\t" : "    ";
  const std::uint32_t begin = inside[0].span.begin;
  FileEdit edit{.file = file, .replacements = {}, .needs = {"torch"}};
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

}  // namespace hotlens::advice
