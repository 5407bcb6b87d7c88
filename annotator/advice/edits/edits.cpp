#include "annotator/advice/edits/edits.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/imports.h"
#include "annotator/profile/page_faults.h"

namespace hotlens::advice {
namespace {

constexpr std::string_view kKeepFreed = "keep_freed";

Made made(const Script& script, std::string_view kind, const std::vector<std::string>& modules) {
  if (kind == "fused_optimizer") return optimizer(script, "fused");
  if (kind == "foreach_optimizer") return optimizer(script, "foreach");
  if (kind == "zero_grad_none") return zero_grad(script);
  if (kind == "no_dropout") return no_dropout(script, modules);
  if (kind == "no_conv_bias") return no_conv_bias(script, modules);
  if (kind == "inplace_relu") return inplace_relu(script, modules);
  if (kind == "pool_before_relu") return pool_before_relu(script, modules);
  if (kind == "batch_norm_eval") return batch_norm_eval(script, modules);
  if (kind == "gelu_to_relu") return gelu_to_relu(script, modules);
  if (kind == "channels_last") return channels_last(script);
  if (kind == "compile") return compile(script);
  if (kind == "autocast_bf16") return autocast(script, script.sources().device);
  if (kind == "accumulate") return accumulate(script);
  if (kind == "loader_workers") return loader_workers(script);
  if (kind == "pin_memory") return pin_memory(script);
  if (kind == "checkpoint") return checkpoint(script, modules);
  if (kind == "unbind_time") return unbind_time(script, modules);
  if (kind == "cudnn_benchmark") return cudnn_benchmark(script);
  if (kind == "tf32") return tf32(script);
  if (kind == "scan_time") return scan_time(script);
  if (kind == "fused_attention") return fused_attention(script, modules);
  if (kind == "gelu_tanh") return gelu_tanh(script, modules);
  if (kind == kKeepFreed) return no("no text of the script sets it");
  return no("no edit of a single expression does it");
}

std::string by_hand(std::string_view kind) {
  if (kind == kKeepFreed) return "begin the command with " + std::string(profile::kKeepsFreed);
  constexpr auto kWays = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"fused_optimizer", "give the optimizer fused=True where it is made"},
      {"foreach_optimizer", "give the optimizer foreach=True where it is made"},
      {"zero_grad_none", "call zero_grad() without set_to_none=False"},
      {"no_dropout", "set the probability of every dropout to 0"},
      {"no_conv_bias", "give these layers bias=False"},
      {"inplace_relu", "give these ReLUs inplace=True"},
      {"pool_before_relu", "put each max-pool before the ReLU that it follows"},
      {"gelu_to_relu", "put ReLU in place of GELU"},
      {"channels_last",
       "call model.to(memory_format=torch.channels_last) before the optimizer is made, and x.to(memory_format=torch.channels_last) on "
       "images"},
      {"autocast_bf16",
       "put the model's call and the loss under `with torch.autocast(device, torch.bfloat16):`, the backward pass outside"},
      {"checkpoint", "call each of these blocks as torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"},
      {"batch_norm_eval", "call eval() on every batch norm after each model.train()"},
      {"loader_workers", "give the DataLoader num_workers, one or a few"},
      {"pin_memory", "give the DataLoader pin_memory=True, and copy batches with non_blocking=True"},
      {"host_read", "keep losses as tensors and read them every hundred steps"},
      {"host_tensor", "make the tensor on the device (device=x.device), or once before the loop"},
      {"lower_precision", "put the model's call and the loss under torch.autocast"},
      {"tf32", "call torch.set_float32_matmul_precision(\"high\") before training"},
      {"fused_attention", "call F.scaled_dot_product_attention in place of product, softmax and product"},
      {"fewer_launches", "try a larger batch, or torch.compile (hotlens whatif compile --verify)"},
      {"unbind_time", "take x.unbind(dim) before the loop over time, and index the list"},
      {"accumulate",
       "for each of x.chunk(2) and y.chunk(2) call (loss / 2).backward(), then optimizer.step() once; zero_grad() stays before both"},
      {"cudnn_benchmark", "set torch.backends.cudnn.benchmark = True before training"},
      {"scan_time", "compute the states in chunks: the steps within all chunks at once, then from chunk to chunk"},
      {"compile", "call model.compile() before training"},
      {"gelu_tanh", "call F.gelu(x, approximate=\"tanh\")"},
  });
  const auto* found = std::ranges::find(kWays, kind, &std::pair<std::string_view, std::string_view>::first);
  return found == kWays.end() ? std::string() : std::string(found->second);
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
    for (std::string& what : edit.needs) {
      if (std::ranges::find(known->needs, what) == known->needs.end()) known->needs.push_back(std::move(what));
    }
    std::ranges::stable_sort(known->replacements, {}, [](const Replacement& one) { return one.span.begin; });
    if (overlap(known->replacements))
      return NoEdit{.reason = "these changes edit the same place; apply one after the other", .by_hand = {}};
  }
  return std::nullopt;
}

// Behind the others; what is edited at the same byte follows it.
void add_import(FileEdit& edit, Replacement import) {
  const auto same = std::ranges::find(edit.replacements, import.span.begin, [](const Replacement& one) { return one.span.begin; });
  if (same == edit.replacements.end()) return edit.replacements.push_back(std::move(import));
  same->text.insert(0, import.text);
}

std::string has_changed(const SourceText& file) {
  return file.path.filename().string() + " has changed since it was profiled; profile it again";
}

// What is not found may be what was changed.
std::optional<std::string> changed(const Sources& sources) {
  const auto found = std::ranges::find(sources.files, false, &SourceText::as_executed);
  return found == sources.files.end() ? std::nullopt : std::optional(has_changed(*found));
}

std::optional<std::string> unsafe(const FileEdit& edit, const Script& script) {
  const SourceText& file = script.sources().files[edit.file];
  const std::string name = file.path.filename().string();
  if (!file.as_executed) return has_changed(file);
  if (!file.can_be_edited) return name + " is read-only";
  if (script.texts()[edit.file].broken()) return name + " does not parse";
  if (PythonText(replaced(file.text, edit.replacements)).broken()) return "the edited " + name + " would not parse";
  return std::nullopt;
}

}  // namespace

std::string sentence(const NoEdit& why) {
  return why.by_hand.empty() ? why.reason : why.reason + "; by hand: " + why.by_hand;
}

std::string_view what_if_of(std::string_view kind) {
  return kind == "lower_precision" ? "autocast_bf16" : kind;
}

std::expected<Edits, NoEdit> edits_of(const std::vector<lab::Part>& parts, const Sources& sources) {
  const Script script(sources);
  Edits all;
  for (const lab::Part& part : parts) {
    auto edits = made(script, what_if_of(part.kind), part.modules);
    if (!edits) return std::unexpected(NoEdit{changed(sources).value_or(edits.error().reason), by_hand(part.kind)});
    if (auto wrong = merge(all, std::move(*edits))) return std::unexpected(std::move(*wrong));
  }
  for (FileEdit& edit : all) {
    auto import = missing_import(script.texts()[edit.file], edit.replacements, edit.needs);
    if (!import) return std::unexpected(NoEdit{changed(sources).value_or(script.name(edit.file) + ": " + import.error()), {}});
    if (*import) add_import(edit, std::move(**import));
    if (auto reason = unsafe(edit, script)) return std::unexpected(NoEdit{std::move(*reason), {}});
  }
  return all;
}

Environment environment_of(const std::vector<lab::Part>& parts) {
  Environment set;
  if (std::ranges::find(parts, kKeepFreed, &lab::Part::kind) == parts.end()) return set;
  for (const auto word : profile::kKeepsFreed | std::views::split(' ')) {
    const std::string_view one(word);
    const std::size_t equals = one.find('=');
    set.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return set;
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

std::optional<lab::SourceLine> place_of(const Edits& edits, const Sources& sources) {
  const auto all = described(edits, sources);
  if (all.empty()) return std::nullopt;
  const auto changes = std::ranges::find_if(all, [](const lab::SourceEdit& edit) { return !edit.was.empty(); });
  const lab::SourceEdit& at = changes == all.end() ? all.front() : *changes;
  return lab::SourceLine{at.file, at.line};
}

}  // namespace hotlens::advice
